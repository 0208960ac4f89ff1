"""How states meet: at the end of an if, and from one trip of a loop to the next."""
