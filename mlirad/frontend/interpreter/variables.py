"""Names and frames: where a name is bound, and its value.

Reads: scopes and the state. Writes: the frames of the state. Leaves: values.
"""

from __future__ import annotations

from mlirad.dialect.ops.check import check
from mlirad.frontend.interpreter import outside_objects
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.frames import Frame
from mlirad.frontend.join.value_names import name_variable
from mlirad.frontend.program.scope import ScopeNode, scope_of
from mlirad.frontend.values.values import Maybe, Value


def enter(context: Context, node: ScopeNode) -> None:
    """Begin a frame for a comprehension in the current function."""
    number = context.fresh()
    frame = Frame(number, context.frame.source, scope_of(node), context.frame.number, context.frame.live)
    frame.live = scope_of(node).local
    context.frames[number] = frame
    context.state.frames[number] = {}
    context.active.append(frame)


def leave(context: Context) -> None:
    """End the current frame; variables that closures see remain."""
    frame = context.active.pop()
    names = context.state.frames.get(frame.number, {})
    kept = {name: value for name, value in names.items() if name in frame.scope.captured}
    if kept:
        context.state.frames[frame.number] = kept
    else:
        context.state.frames.pop(frame.number, None)


# Names.


def bind(context: Context, name: str, value: Value) -> None:
    name_variable(context.state, name, value)
    context.state.frames[frame_of(context, name).number][name] = value


def unbind(context: Context, name: str) -> None:
    lookup(context, name)
    del context.state.frames[frame_of(context, name).number][name]


def frame_of(context: Context, name: str) -> Frame:
    """The frame in which an assignment to a name binds it."""
    frame = context.frame
    if name in frame.scope.globals:
        raise context.refusal(f"{name!r} is a global, and compiled code cannot rebind it", "return the new value")
    if name in frame.scope.local:
        return frame
    number = frame.parent
    while number is not None:
        if name in context.frames[number].scope.local:
            return context.frames[number]
        number = context.frames[number].parent
    raise context.refusal(f"{name!r} belongs to a function that is not compiled", "pass it in and return the new value")


def lookup(context: Context, name: str) -> Value:
    number: int | None = context.frame.number
    while number is not None:
        frame = context.frames[number]
        if name in frame.scope.local:
            return bound(context, frame, name)
        number = frame.parent
    return outside_objects.global_value(context, name)


def bound(context: Context, frame: Frame, name: str) -> Value:
    names = context.state.frames.get(frame.number, {})
    value = names.get(name)
    if value is None:
        raise context.failed(
            "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
        )
    if isinstance(value, Maybe):
        message = f"cannot access local variable '{name}' where it is not associated with a value"
        check(value.flag, "UnboundLocalError", message)
        names[name] = value = value.value
    return value
