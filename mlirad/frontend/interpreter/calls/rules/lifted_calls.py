"""Calls of functions that take their surroundings as an argument: `library/lifted.py`.

Reads: a Lifted function, and values for its holders. Writes: names in frame 0, like those of captured arrays, during
the call. Leaves: the value of the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.contract.captures import CAPTURE
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, outside_objects
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.values import Ref, Tuple, Value
from mlirad.library.lifted import Lifted


def call_lifted(context: Context, lifted: Lifted, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    arrays = context.use(args[0]) if args else None
    held = [context.use(each) for each in arrays.items] if isinstance(arrays, Tuple) else []
    if len(held) != len(lifted.holders) or not all(isinstance(each, Ref) for each in held):
        message = f"{lifted.__name__} takes a tuple of {len(lifted.holders)} arrays first, one for each holder"
        raise DTypeError(message, context.location)
    before, names = context.stand_ins, []
    context.stand_ins = dict(before)
    for holder, array in zip(lifted.holders, held, strict=True):
        names.append(f"{CAPTURE}held {context.fresh()}")
        context.state.frames[0][names[-1]] = array
        context.stand_ins[id(holder)] = holder, names[-1]
    try:
        function = outside_objects.object_value(context, lifted.function, None)
        value = dispatch.call(context, function, args[1:], kwargs)
    finally:
        context.stand_ins = before
    for name in names:
        del context.state.frames[0][name]
    return value
