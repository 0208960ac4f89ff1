"""The primitive that methods of random generators draw with.

Reads: the words of a generator, and parameters. Writes: nd.draw. Leaves: Traced values.
"""

from __future__ import annotations

from typing import Any

from mlirad.contract.draw_functions import FUNCTIONS
from mlirad.dialect.effects import draw
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.numpy.numpy_creation import shape_from
from mlirad.frontend.values.sizes import value_of
from mlirad.frontend.values.traced import DATA, Traced, as_operand, as_traced, in_type, shape_of
from mlirad.library.random.draws import drawn


@compiles(drawn, is_made=True, is_row_major=True)
def numbers(words: Any, function: str, count: Any, *parameters: Any) -> Traced:
    """Drawn numbers are data: no specialisation makes them known."""
    given = [as_operand(each) for each in parameters]
    exprs = [in_type(x, dtype, shape_of(x)) for x, dtype in zip(given, FUNCTIONS[function].parameters, strict=True)]
    size = None if count is None else value_of(shape_from(count, "random numbers")[0])
    made = draw.drawn(function, as_traced(words).expr, size, *exprs)
    return Traced(made, origins=frozenset({DATA}))
