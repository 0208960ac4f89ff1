"""`x.shape = s`: the array is another view of its elements from then on.

Reads: the state, for other holders of the array. Writes: the name that holds it. Leaves: nothing.
"""

from __future__ import annotations

from mlirad.frontend.interpreter import attribute_access, dispatch
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.value_parts import inside
from mlirad.frontend.values.values import Ref, Value


def set_shape(context: Context, array: Ref, shape: Value) -> None:
    """Assign a shape. Raises AttributeError if no view has the shape, as NumPy does. The same array under another name
    would change too, and cannot be distinguished from another view of its elements, so that is refused."""
    holders = [(place, value) for place, value in context.state.places() if _holds(value, array)]
    in_objects = any(_holds(item, array) for entry in context.state.heap.values() for item in entry.items)
    hint = "write x = x.reshape(...); other names then keep the old shape"
    match holders:
        case [(("frame", int(frame), str(name)), value)] if value is array and not in_objects:
            pass
        case _:
            raise context.refusal(
                "the shape of an array cannot be assigned if the caller or another name may hold it", hint
            )
    reshaped = dispatch.call(context, attribute_access.attribute(context, array, "reshape"), (shape,), {})
    assert isinstance(reshaped, Ref)
    if _cells(reshaped) != _cells(array):
        message = (
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
        )
        raise context.failed("AttributeError", message)
    context.state.frames[frame][name] = reshaped


def _holds(value: Value, array: Ref) -> bool:
    return any(isinstance(each, Ref) and _may_be(each, array) for each in inside(value))


def _may_be(other: Ref, array: Ref) -> bool:
    """Whether two arrays may be the same: the same view of one cell."""
    own = {each.cell: each.view for each in array.alternatives}
    return any(each.cell in own and own[each.cell] == each.view for each in other.alternatives)


def _cells(array: Ref) -> list[int]:
    return [each.cell for each in array.alternatives]
