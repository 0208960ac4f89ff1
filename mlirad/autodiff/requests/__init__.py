"""How requests for derivatives become functions."""
