"""Views of arrays: how their elements map to the base, and how to read and write them."""
