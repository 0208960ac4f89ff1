"""Calls of functions that have a derivative rule of their own."""
