"""How states are merged: at the end of an if, and from one iteration of a loop to the next."""
