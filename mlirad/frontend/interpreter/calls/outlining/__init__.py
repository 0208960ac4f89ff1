"""Calls as functions of their own: private `func.func`s, the operands passed to them, their results and changes."""
