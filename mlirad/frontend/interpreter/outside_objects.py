"""Objects from outside the function: names, attributes and items that the compiled code does not create.

Reads: Python objects. Writes: only hidden arguments. Leaves: values; captures and guards, as captures.CaptureFindings.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import sys
from collections.abc import Hashable, Sequence
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.captures import WORDS, Capture, Guard, Path, Presence, is_in_settled, is_settled, keys_of, lookup
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.steering import Restart
from mlirad.frontend.join.value_names import name
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.program import hints, purity
from mlirad.frontend.values.numpy_strides import strides_of
from mlirad.frontend.values.traced import of_array
from mlirad.frontend.values.values import Alternative, Bound, Entry, Object, Owner, Ref, Static, Tuple, Value
from mlirad.frontend.values.views.view import View
from mlirad.library.random import generators
from mlirad.library.scipy import sparse_matrices
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request
from mlirad.signature import ArrayLeaf, leaf_of

BORROWED = "a {} that belongs to the code around the function"


class HoldsValue:
    """A Python object that represents a value of the compiled function."""

    __slots__ = ()

    @property
    def __mlirad_value__(self) -> Value:
        raise NotImplementedError


def is_container(value: Any) -> bool:
    """Whether the program may use the items of a Python object: a list, dict or dataclass, but no kernel or request."""
    if isinstance(value, Request) or plain(value) is not value:
        return False
    if type(value) in (list, dict) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return True
    is_known = tree.is_generator(type(value)) or tree.sparse_names(type(value)) is not None
    return is_known and tree.children(value) is not None


def _path_of_itself(value: Any) -> Path | None:
    """The path to an object itself; None if its attributes never change."""
    home = (value if isinstance(value, type | FunctionType | BuiltinMethodType) else type(value)).__module__
    return None if is_in_settled(str(home)) and purity.is_constant(value) else Path(value, "")


def _is_keyed(owner: Static) -> bool:
    """Whether the guards on an attribute's owner determine the attribute, even in another process."""
    value = owner.value
    if isinstance(value, ModuleType):
        return owner.path is not None or is_settled(value)
    kind = value if isinstance(value, type) else type(value)
    return is_in_settled(kind.__module__) or owner.path is not None


def global_value(context: Context, name: str) -> Value:
    function = context.frame.source.function
    try:
        value = lookup(function, name)
    except NameError as error:
        alike = hints.did_you_mean(name, [*context.frame.scope.local, *function.__globals__, *dir(builtins)])
        raise context.refusal(str(error), alike or "define it before the function is compiled") from None
    is_settled_too = is_in_settled(function.__module__) and name not in function.__code__.co_freevars
    return object_value(context, value, None if is_settled_too else context.findings.root(function, name))


def object_value(context: Context, value: Any, path: Path | None) -> Value:
    """A Python object as a value; `path`: where it was found (None: it cannot change)."""
    if isinstance(value, HoldsValue):
        return value.__mlirad_value__
    if isinstance(value, np.ndarray):
        return storage.result(context, of_array(value)) if path is None else captured(context, value, path)
    if isinstance(value, MethodType):
        return method(context, value, path)
    if id(value) in context.stand_ins:
        return stand_in(context, value, path)
    if (field := field_of_array(value)) is not None:
        guard_keys(context, value, path)
        return object_value(context, getattr(value, field), step(path or Path(value, ""), "attribute", field))
    path = path or _path_of_itself(value)
    if is_container(value):
        return container(context, value, path)
    if type(value) is set:
        guard_keys(context, value, path or Path(value, ""))
        return Static(purity.SetCopy(value))
    if isinstance(value, tuple) and tree.children(value) is not None:
        guard_keys(context, value, path)
        items = (object_value(context, x, step(path, "item", i)) for i, x in enumerate(value))
        return Tuple(tuple(items), type(value))
    guard(context, path, value)
    return Static(value) if is_settled(value) else Static(value, path)


def stand_in(context: Context, value: Any, path: Path | None) -> Value:
    """An object that holds an array which another value replaces: `library/lifted.py`."""
    guard(context, path, value)
    _, name = context.stand_ins[id(value)]
    context.captures_used.add(name)
    keys, _ = tree.children(value) or ((), ())
    array = context.state.frames[0][name]
    if field_of_array(value) is not None:
        return array
    owner = Owner(BORROWED.format(type(value).__name__), is_shared=True)
    return context.new_object(Entry(type(value), keys or (), (array,), owner))


def field_of_array(value: Any) -> str | None:
    """The field that holds an object's array in compiled code, if its class names one."""
    return getattr(type(value), "__mlirad_array__", None)


def guard(context: Context, path: Path | None, value: Any) -> None:
    """Guard the code: it is right only while this object is found there."""
    if path is not None and (path.name or path.steps):  # an object itself stays the same
        context.findings.guards.setdefault(path, Guard(path, value))


def guard_code(context: Context, function: FunctionType, code: CodeType) -> None:
    """Guard the code: it is right only while a function has this Python code."""
    if is_in_settled(function.__module__):
        return
    path = Path(function, "")
    if context.findings.guards.setdefault(path, Guard(path, function, code=code)).code is not code:
        raise Restart(f"{function.__name__} is changed while it is compiled")
    context.findings.used[function] = None


def method(context: Context, value: MethodType, path: Path | None) -> Value:
    """A method of an object, bound to it."""
    guard(context, step(path, "attribute", "__func__"), value.__func__)
    receiver = object_value(context, value.__self__, step(path, "attribute", "__self__"))
    return Bound(receiver, value.__name__, value.__func__)


def step(path: Path | None, kind: str, key: Hashable) -> Path | None:
    return None if path is None else path.then(kind, key)


def guard_keys(context: Context, value: Any, path: Path | None) -> None:
    if path is not None:  # even if it was set on an object itself
        context.findings.guards.setdefault(path, Guard(path, type(value), keys_of(value)))


def container(context: Context, value: Any, path: Path | None) -> Value:
    inner = tree.children(value)
    if inner is None:
        return Static(value, path)
    keys, items = inner
    kind = "attribute" if type(value) not in (list, dict) else "item"
    guard_keys(context, value, path)
    keys = tuple(range(len(items))) if keys is None else keys
    is_generator = isinstance(keys, tree.GeneratorParts)
    if is_generator and (path is None or not (path.name or path.steps)):
        raise context.refusal(
            "a random generator that is a static argument", "pass it as an argument that is not static"
        )
    steps = ((WORDS, 0),) if is_generator else tuple((kind, key) for key in keys)
    if any(each is value for each in context.opened):
        raise context.refusal(f"a {type(value).__name__} that contains itself", "keep this reference outside of it")
    context.opened.append(value)
    try:
        made = _items(context, [(item, step(path, *each)) for each, item in zip(steps, items, strict=True)])
    finally:
        context.opened.pop()
    return context.new_object(
        Entry(type(value), keys, made, Owner(BORROWED.format(type(value).__name__), is_shared=True))
    )


def _items(context: Context, found: Sequence[tuple[Any, Path | None]]) -> tuple[Value, ...]:
    """The items of a container. They are all looked at before the next attempt, which then has all their arrays."""
    made: list[Value] = []
    restart: Restart | None = None
    for item, path in found:
        try:
            made.append(object_value(context, item, path))
        except Restart as again:
            restart = again
    if restart is not None:
        raise restart
    return tuple(made)


def captured(context: Context, array: np.ndarray, path: Path) -> Ref:
    """A captured array: a hidden argument."""
    context.findings.foreseen.discard(path)
    capture = context.findings.captures.get(path)
    if capture is not None and capture.name in context.state.frames[0]:
        known = context.state.frames[0][capture.name]
        assert isinstance(known, Ref)
        context.captures_used.add(capture.name)
        return known
    if capture is None:
        try:
            leaf = leaf_of(array)
        except TypeError as error:
            raise DTypeError(str(error), context.location) from None
        assert isinstance(leaf, ArrayLeaf)
        context.findings.capture(path, leaf)
    # Every state must have it from the start, or a join would think that only one side has the array.
    raise Restart(f"the array {path} is captured")


# Attributes.


def attribute_of_object(context: Context, owner: Static, name: str) -> Value:
    value = owner.value
    if isinstance(value, inspect.Signature) and name == "parameters":
        parameters = value.parameters
        return context.new_object(Entry(dict, tuple(parameters), tuple(map(Static, parameters.values()))))
    is_settled_value = purity.is_settled_instance(value)
    if not is_settled_value and not isinstance(value, type):
        stored = purity.class_attribute(type(value), name)
        if isinstance(stored, property):
            return property_of(context, owner, type(value), name, stored)
    require_plain(context, value, name)
    try:
        found = getattr(value, name)
    except AttributeError as error:
        if isinstance(value, purity.SetCopy) and hasattr(set, name):
            raise context.refusal("a set of the program cannot be changed", "use a dict") from None
        raise context.refusal(str(error), spelled_alike(value, name)).as_raised(AttributeError) from None
    tell(context, owner, name)
    if is_settled_value and not isinstance(value, np.ufunc):
        is_method = callable(found) and not isinstance(found, type)
        return Bound(owner, name) if is_method else object_value(context, found, None)
    path = None if owner.path is None else owner.path.then("attribute", name)
    if is_settled(value):
        path = Path(value, "", (("attribute", name),))
    if isinstance(found, MethodType) and found.__self__ is value:
        guard(context, step(path, "attribute", "__func__"), found.__func__)
        return Bound(owner, name, found.__func__)
    if isinstance(found, BuiltinMethodType) and getattr(value, name) is not found:
        return Static(found)  # a new object for each read
    return object_value(context, found, path)


def spelled_alike(value: Any, name: str) -> str | None:
    """The hint for a missing attribute: a compiled function with a similar name, if there is one."""
    prefix = value.__name__.replace("numpy", "np", 1) if isinstance(value, ModuleType) else ""
    if prefix == "np" and (former := hints.of_former_name(name)) is not None:
        return former
    compiled = [each.rpartition(".") for each in numpy_calls.supported_names()] if prefix else []
    names = dir(value) if isinstance(value, type | ModuleType) else object.__dir__(value)
    own = [each for each in names if not each.startswith("_")]
    return hints.did_you_mean(name, [*(short for home, _, short in compiled if home == prefix), *own], f"{prefix}.{{}}")


def property_of(context: Context, owner: Value, kind: type, name: str, stored: property) -> Value:
    """Reading a property calls its function, which is compiled."""
    if not isinstance(stored.fget, FunctionType):
        raise context.refusal(f"the attribute {name!r} of {kind.__name__} is not compiled", "read it outside")
    guard(context, Path(kind, "", (("attribute", name), ("attribute", "fget"))), stored.fget)
    return dispatch.call(context, Static(stored.fget), (owner,), {})


def require_plain(context: Context, value: Any, name: str) -> None:
    """Refuse an attribute that Python code would compute: the compiler runs none of it."""
    is_settled_value = purity.is_settled_instance(value) or is_settled(value)  # NumPy's modules define __getattr__
    if not is_settled_value and purity.runs_code(value, name):
        what = value.__name__ if isinstance(value, type | ModuleType) else type(value).__name__
        raise context.refusal(
            f"the attribute {name!r} of {what} is computed when it is read", "read it outside, and pass it in"
        )


def has_attribute(context: Context, owner: Static, name: str) -> bool:
    require_plain(context, owner.value, name)
    found = hasattr(owner.value, name)
    tell(context, owner, name)
    guard(context, step(owner.path, "attribute", name), Presence.HERE if found else Presence.NOT_HERE)
    return found


def tell(context: Context, owner: Static, name: str) -> None:
    """Note an attribute that no guard checks."""
    if not _is_keyed(owner):
        context.findings.unkeyed.append(f"the attribute {name!r} of a {type(owner.value).__name__}")


def attribute_of_class(context: Context, value: Value, kind: type, name: str) -> Value:
    """A method or class attribute of a dataclass or named tuple, or the library's attribute of a sparse matrix."""
    if tree.sparse_names(kind) is not None:
        return attribute_of_sparse(context, value, kind, name)
    if tree.is_generator(kind):
        return attribute_of_generator(context, value, name)
    stored = purity.class_attribute(kind, name)
    if isinstance(stored, property):
        return property_of(context, value, kind, name, stored)
    require_plain(context, kind, name)
    found = getattr(kind, name, None)
    path = Path(kind, "", (("attribute", name),))
    if isinstance(found, FunctionType):
        guard(context, path, found)
        is_static = isinstance(inspect.getattr_static(kind, name), staticmethod)
        return Static(found) if is_static else Bound(value, name, found)
    if not hasattr(kind, name) and not hasattr(kind, "__getattr__"):
        known = [*getattr(kind, "__dataclass_fields__", getattr(kind, "_fields", ())), *vars(kind)]
        hint = hints.did_you_mean(name, [each for each in known if not each.startswith("_")], ".{}")
        raise context.refusal(f"{kind.__name__} has no field, method or class attribute {name!r}", hint)
    if found is None or callable(found):
        raise context.refusal(f"the attribute {name!r} of {kind.__name__} is not compiled")
    return object_value(context, found, path)


def attribute_of_sparse(context: Context, value: Value, kind: type, name: str) -> Value:
    """An attribute of a scipy.sparse matrix other than its arrays."""
    assert isinstance(value, Object)
    parts = storage.entry_of(context, value).keys
    assert isinstance(parts, tree.SparseParts)
    if name == "shape":
        return Tuple(tuple(map(Static, parts.shape)))
    if name == "format":
        return Static(kind.__name__.partition("_")[0])
    if name == "T":
        return transposed(context, value)
    function = sparse_matrices.attribute(kind.__name__, name)
    if function is None:
        arrays = " and ".join((", ".join(f".{each}" for each in parts[:-1]), f".{parts[-1]}"))
        hint = f"write a loop over its arrays {arrays}, or compute it outside"
        raise context.refusal(f"{name!r} of a {kind.__name__} is not compiled", hint)
    if sparse_matrices.is_property(function):
        return dispatch.call(context, Static(function), (value,), {})
    return Bound(value, name, function)


def attribute_of_generator(context: Context, value: Value, name: str) -> Value:
    """A method of a random generator: a function of the library."""
    function = generators.method(name)
    if function is None:
        if not hasattr(np.random.Generator, name):
            raise context.refusal(f"'Generator' object has no attribute {name!r}").as_raised(AttributeError)
        hint = "call it outside, and pass the result in; docs/random.md lists what is compiled"
        raise context.refusal(f"{name!r} of a Generator is not compiled", hint)
    return Bound(value, name, function)


def transposed(context: Context, value: Object) -> Value:
    """The transpose of a sparse matrix, with the same arrays."""
    entry = storage.entry_of(context, value)
    assert isinstance(entry.keys, tree.SparseParts)
    form, _, rest = entry.kind.__name__.partition("_")
    numbers, first, second = entry.items
    if form == "coo":
        first, second = second, first
    kind = getattr(sys.modules["scipy.sparse"], f"{_TRANSPOSED[form]}_{rest}")
    parts = tree.SparseParts(tree.sparse_names(kind) or (), entry.keys.shape[::-1])
    return context.new_object(Entry(kind, parts, (numbers, first, second)))


_TRANSPOSED = {"csr": "csc", "csc": "csr", "coo": "coo"}


def hidden_argument(context: Context, capture: Capture, contents: Any) -> Ref:
    """Bind the array of a capture, with the contents of an argument, for the caller and for `captured`."""
    number = context.fresh()
    name(contents.value, str(capture.path))
    context.state.store[number] = contents
    leaf = capture.leaf
    view = View.of(leaf.shape, leaf.dtype, strides_of(leaf), leaf.readonly)
    array = Ref((Alternative(number, view),))
    context.state.frames[0][capture.name] = array
    return array
