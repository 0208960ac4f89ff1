"""Calls as functions of their own: private `func.func`s, what is passed to them, and what they give and change."""
