"""Objects of the user's classes, created in the program: dataclasses, named tuples and plain classes.

Reads: classes, and the arguments of their constructors. Writes: objects in the heap, through the code of `__init__`,
`__post_init__` and default factories. Leaves: values.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from mlirad import tree
from mlirad.contract.captures import Path, is_in_settled
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, outside_objects, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.program import purity
from mlirad.frontend.values.values import Entry, Ref, Static, Tuple, Value

_FIELDS = (("attribute", "__dataclass_fields__"),)
_ANY_CLASS = 1 << 9
_OUTSIDE = "make it outside, and read its attributes"


# Plain classes.


def construct_plain(context: Context, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """An object of a plain class: the code of `__init__` assigns its attributes."""
    if (why := why_not_plain(kind)) is not None:
        raise context.refusal(f"{kind.__name__} {why}", _OUTSIDE)
    context.findings.used[kind] = None
    made = context.new_object(Entry(kind, (), ()))
    if isinstance(purity.class_attribute(kind, "__init__"), FunctionType):
        context.push(made)
        returned = dispatch.call(
            context, outside_objects.attribute_of_class(context, made, kind, "__init__"), args, kwargs
        )
        made = context.pop()
        if not isinstance(returned, Static) or returned.value is not None:
            raise DTypeError("__init__() should return None", context.location)
    elif args or kwargs:
        raise DTypeError(f"{kind.__name__}() takes no arguments", context.location)
    return made


# Matrices of scipy.sparse.


def construct_sparse(context: Context, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A matrix made from its arrays: `csr_array((data, indices, indptr), shape=(m, n))`."""
    names = tree.sparse_names(kind)
    assert names is not None
    is_plain = len(args) == 1 and list(kwargs) == ["shape"]
    given = _flat(context, args[0]) if is_plain else None
    if given is None or len(given) != 3 or not all(isinstance(each, Ref) for each in given):
        spelled = "(data, (row, col))" if names[1] == "row" else f"({', '.join(names)})"
        raise context.refusal(
            f"a {kind.__name__} is compiled only if it is made from its arrays",
            f"write {kind.__name__}({spelled}, shape=(m, n))",
        )
    shape = storage.static(context, kwargs["shape"], "the shape of a sparse matrix")
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise DTypeError(f"the shape of a {kind.__name__} is a tuple of two numbers, not {shape!r}", context.location)
    return context.new_object(Entry(kind, tree.SparseParts(names, shape), tuple(given)))


def _flat(context: Context, value: Value) -> list[Value] | None:
    """The items of a tuple of arrays, and of the tuples in it."""
    value = context.use(value)
    if not isinstance(value, Tuple):
        return None
    return [leaf for item in map(context.use, value.items) for leaf in (_flat(context, item) or [item])]


# Dataclasses.


def construct(context: Context, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A dataclass."""
    if not has_plain_constructor(kind) or _has_pseudo_fields(kind):
        raise context.refusal(f"{kind.__name__} runs code of its own when it is made", "make it outside")
    context.findings.used[kind] = None
    fields = dataclasses.fields(kind)
    positional = [field.name for field in fields if field.init and not field.kw_only]
    given = given_fields(context, kind, positional, {field.name for field in fields if field.init}, args, kwargs)
    names = list(given)
    context.push(*given.values())
    for field in fields:
        if field.name in given:
            continue
        value = default_of_field(context, kind, field)
        if value is not None:
            names.append(field.name)
            context.push(value)
        elif field.init:
            raise DTypeError(f"{kind.__name__}() is missing the argument {field.name!r}", context.location)
    found = dict(zip(names, context.pop_many(len(names)), strict=True))
    keys = tuple(field.name for field in fields if field.name in found)
    made = context.new_object(Entry(kind, keys, tuple(found[key] for key in keys)))
    if hasattr(kind, "__post_init__"):
        context.push(made)
        dispatch.call(context, outside_objects.attribute_of_class(context, made, kind, "__post_init__"), (), {})
        made = context.pop()
    return made


def given_fields(
    context: Context,
    kind: type,
    positional: Sequence[str],
    names: set[str],
    args: Sequence[Value],
    kwargs: dict[str, Value],
) -> dict[str, Value]:
    """The fields that a call sets."""
    given = dict(zip(positional, args, strict=False))
    if len(args) > len(positional) or set(kwargs) - names or set(kwargs) & set(given):
        raise DTypeError(f"{kind.__name__}() takes {', '.join(positional)}", context.location)
    return given | kwargs


def default_of_field(context: Context, kind: type, field: dataclasses.Field[Any]) -> Value | None:
    """The default of a field, from its factory if it has one."""
    path = Path(kind, "", (*_FIELDS, ("item", field.name)))
    if field.default is not dataclasses.MISSING:
        return outside_objects.object_value(context, field.default, path.then("attribute", "default"))
    if field.default_factory is not dataclasses.MISSING:
        return dispatch.call(
            context,
            outside_objects.object_value(context, field.default_factory, path.then("attribute", "default_factory")),
            (),
            {},
        )
    return None


# Named tuples.


def construct_named(context: Context, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A named tuple."""
    if "_tuple_new" not in getattr(kind.__new__, "__globals__", ()):
        raise context.refusal(f"{kind.__name__} runs code of its own when it is made", "make it outside")
    context.findings.used[kind] = None
    names: Sequence[str] = kind._fields
    defaults: dict[str, Any] = kind._field_defaults
    given = given_fields(context, kind, names, set(names), args, kwargs)
    for name in names:
        if name not in given:
            if name not in defaults:
                raise DTypeError(f"{kind.__name__}() is missing the argument {name!r}", context.location)
            path = Path(kind, "", (("attribute", "_field_defaults"), ("item", name)))
            given[name] = outside_objects.object_value(context, defaults[name], path)
    return Tuple(tuple(given[name] for name in names), kind)


def replaced_named(context: Context, value: Tuple, kwargs: dict[str, Value]) -> Value:
    """`value._replace(field=...)`."""
    names: Sequence[str] = value.kind._fields
    if unknown := [name for name in kwargs if name not in names]:
        error = TypeError if sys.version_info >= (3, 13) else ValueError
        raise context.refusal(f"Got unexpected field names: {unknown!r}").as_raised(error)
    return Tuple(tuple(kwargs.get(name, item) for name, item in zip(names, value.items, strict=True)), value.kind)


def is_users(kind: type) -> bool:
    """Whether a class belongs neither to Python nor to a library that the compiler knows. Classes of mlirad's own
    library, and those that mlirad has for users of other packages, count as the user's."""
    if kind.__module__.startswith(("mlirad.library.", "mlirad.interop.")):
        return True
    home = kind.__module__.split(".")[0]
    return home not in sys.stdlib_module_names and not is_in_settled(home)


def why_not_plain(kind: type) -> str | None:
    """Why objects of a class are more than the attributes that its methods assign; None if they are not."""
    bases = kind.__mro__[:-1]
    if any(not base.__flags__ & _ANY_CLASS for base in bases) or kind.__new__ is not object.__new__:
        return "is made by code that is not its __init__"
    if type(kind).__call__ is not type.__call__:
        return "has a metaclass of its own"
    for name in ("__getattribute__", "__setattr__", "__delattr__"):
        if getattr(kind, name) is not getattr(object, name):
            return f"has a {name} of its own"
    return next((f"has a {name}" for name in ("__getattr__", "__del__") if hasattr(kind, name)), None)


def is_made_of_its_items(kind: type) -> bool:
    """Whether an object can be rebuilt from its items: a list, a dict, or an object of a class that only stores its
    fields."""
    if kind in (list, dict) or tree.sparse_names(kind) is not None or tree.is_generator(kind):
        return True
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__") or _has_pseudo_fields(kind):
        return False
    return has_plain_constructor(kind) and all(field.init for field in dataclasses.fields(kind))


def has_plain_constructor(kind: type) -> bool:
    """Whether creating an object of a dataclass only stores its fields and runs its `__post_init__`."""
    generated = [
        kind.__setattr__ is object.__setattr__ or is_generated(kind.__setattr__),
        is_generated(kind.__init__),
        kind.__new__ is object.__new__,
        type(kind).__call__ is type.__call__,
    ]
    return all(generated)


def _has_pseudo_fields(kind: type) -> bool:
    """Whether a dataclass has arguments that are not fields (InitVar)."""
    declared: dict[str, Any] = kind.__dataclass_fields__
    fields = {field.name for field in dataclasses.fields(kind)}
    return any(name not in fields and not _is_class_variable(each) for name, each in declared.items())


def _is_class_variable(field: dataclasses.Field[Any]) -> bool:
    return "ClassVar" in str(field.type)


def is_generated(function: Any) -> bool:
    """Whether the module dataclasses generated a method."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_qualname.startswith("__create_fn__")
