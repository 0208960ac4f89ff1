"""Turns requests for derivatives into functions."""
