"""How the elements of a view lie in its base, and reading and writing through that."""
