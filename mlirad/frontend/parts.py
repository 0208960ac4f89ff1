"""Imports all parts of the interpreter, which fill the tables of dispatch.py.

Reads: nothing. Writes: nothing. Leaves: full tables.
"""

from mlirad.frontend.interpreter.calls import calls
from mlirad.frontend.interpreter.calls.rules import values_around
from mlirad.frontend.interpreter.expressions import expressions
from mlirad.frontend.interpreter.loops import comprehensions, loops, loops_over_generators
from mlirad.frontend.interpreter.statements import context_managers, matching, statements, trying
from mlirad.frontend.interpreter.text import formatting, printing_calls

__all__ = [
    "calls",
    "comprehensions",
    "context_managers",
    "expressions",
    "formatting",
    "loops",
    "loops_over_generators",
    "matching",
    "printing_calls",
    "statements",
    "trying",
    "values_around",
]
