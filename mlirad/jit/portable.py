"""Values as JSON that means the same in every process, and back; functions and classes by number and by content.

Reads: Python values. Writes: nothing. Gives: JSON. It is never executed: the functions and classes in it are looked up
among those of the caller. Raises NotPortable for an object that is known only by its identity.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import marshal
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from mlirad import signature, tree
from mlirad.contract import results
from mlirad.contract.captures import Capture, Path
from mlirad.contract.registered_ops import NativeFunctionError, NativeOp, op_of
from mlirad.library.own_rules import OwnRule, registered
from mlirad.requests import kinds_of_derivatives, lanes_and_parts, request
from mlirad.requests.python_functions import is_kernel

_SETTLED = ("numpy", "math", "cmath", "builtins", "operator", "_operator", "functools", "mlirad")
"""Packages with objects that are identified by name: the packages' versions are part of every key."""


class NotPortable(Exception):
    """A value that means nothing in another process."""


class ObjectTable:
    """Functions and classes, numbered in the order of their appearance: a process that sees the same ones in the same
    order gives them the same numbers. `encode` gives their contents, `sharing` what they have in common.
    """

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._digests: list[str] = []
        self._is_closed = False

    def copy(self) -> ObjectTable:
        """A copy to continue from."""
        made = ObjectTable()
        made.known, made._numbers, made._digests = list(self.known), dict(self._numbers), list(self._digests)
        return made

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """A block without new functions or classes: one that has not appeared before is not portable."""
        before, self._is_closed = self._is_closed, True
        try:
            yield
        finally:
            self._is_closed = before

    def __contains__(self, value: object) -> bool:
        return id(value) in self._numbers or is_settled_object(value) or _is_imported(value)

    def encode(self, value: Any) -> Any:
        """JSON that is equal exactly for values that are the same to compiled code."""
        kind = type(value)
        if value is None or kind is str:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else ["int", hex(value)]
        if kind in _ATOMS:
            return _ATOMS[kind](value)
        if kind is tuple:
            return ["tuple", [self.encode(item) for item in value]]
        if kind is frozenset:
            with self.closed():  # otherwise the order of its items would matter
                return ["set", sorted(map(self.encode, value), key=json.dumps)]
        if kind is tree.SparseParts:
            return ["sparse", list(value), list(value.shape)]
        if kind is tree.GeneratorParts:
            return ["generator", list(value)]
        if kind is dict:
            return ["dict", [[self.encode(key), self.encode(item)] for key, item in value.items()]]
        if isinstance(value, np.generic) and value.dtype.isbuiltin == 1 and not value.dtype.hasobject:
            return ["numpy", value.dtype.str, value.tobytes().hex()]
        if isinstance(value, np.dtype) and value.isbuiltin == 1:
            return ["dtype", value.str]
        return self._encode_object(value)

    def _encode_object(self, value: Any) -> Any:
        if isinstance(value, NativeOp):
            return self._encode_native(value)
        if is_settled_object(value):
            return ["global", *_name_of(value)]
        if _is_imported(value):
            return ["module", value.__name__]
        if isinstance(value, Enum):
            return ["enum", self.encode(type(value)), value._name_, self.encode(value._value_)]
        if type(value) is FunctionType or isinstance(value, type | OwnRule):
            return self._numbered(value)
        if is_kernel(value):
            return ["kernel", self.encode(value.__mlirad_function__)]
        if type(value) is Path:
            return ["path", self.encode(value.function), value.name, self.encode(value.steps)]
        if type(value) is partial:
            return ["partial", *map(self.encode, (value.func, value.args, value.keywords))]
        if type(value) in _RECORDS.values():
            fields = [self.encode(getattr(value, name)) for name in _FIELDS[type(value).__name__]]
            return ["record", type(value).__name__, fields]
        raise NotPortable(f"{type(value).__name__} is known by its identity")

    def _encode_native(self, value: NativeOp) -> Any:
        """A registered op: its name in object code, and everything that code depends on."""
        rule = registered(value)
        own = None if rule is None else [type(rule).__name__, self.encode(rule.rules)]
        return ["native", value.symbol, str(value.prototype), value.prototype.zeros, value.needs_gil, own]

    def _native(self, data: list[Any]) -> NativeOp:
        try:
            found = op_of(data[1])
        except NativeFunctionError as error:
            raise NotPortable(str(error)) from None
        if self._encode_native(found) != data:
            raise NotPortable(f"the native op {data[1]} is a different one here")
        return found

    def _numbered(self, value: Any) -> Any:
        number = self._numbers.get(id(value))
        if number is None:
            if self._is_closed:
                raise NotPortable(f"{value.__name__} is not where another process would find it")
            number = self._numbers[id(value)] = len(self.known)
            self.known.append(value)
            self._digests.append("")  # a class may refer to itself
            self._digests[number] = self._digest_of(value)
        return ["object", number, self._digests[number]]

    def _digest_of(self, value: Any) -> str:
        if isinstance(value, OwnRule):
            return _digest(repr(self.encode(value.described)).encode())
        return self._digest_of_class(value) if isinstance(value, type) else digest_of(value)

    def _digest_of_class(self, kind: type) -> str:
        """The class's fields, with their defaults, and everything that it defines: functions by their code, the rest
        only by name."""
        defaults = getattr(kind, "_field_defaults", {})
        fields: list[Any] = [[name, name in defaults, defaults.get(name)] for name in getattr(kind, "_fields", ())]
        if dataclasses.is_dataclass(kind):
            for each in dataclasses.fields(kind):
                has_default = each.default is not dataclasses.MISSING
                has_factory = each.default_factory is not dataclasses.MISSING
                default = each.default if has_default else None
                fields.append([each.name, has_default, default, has_factory, each.init, each.kw_only])
        described = [[self.encode(part) for part in field] for field in fields]
        bases = [base for base in kind.__mro__ if not is_settled_object(base)]
        words = [[base.__module__, base.__qualname__, _members_of(base)] for base in bases]
        parameters = repr(getattr(kind, "__dataclass_params__", None))
        return _digest(repr([words, described, parameters, str(kind.__mro__[len(bases) :])]).encode())

    def decode(self, data: Any) -> Any:
        """The encoded value; its functions and classes are those known here under their numbers."""
        if not isinstance(data, list):
            return data
        kind, *parts = data
        if kind in _DECODE:
            return _DECODE[kind](*parts)
        match kind:
            case "tuple":
                return tuple(self.decode(item) for item in parts[0])
            case "set":
                return frozenset(self.decode(item) for item in parts[0])
            case "sparse":
                return tree.SparseParts(*parts)
            case "generator":
                return tree.GeneratorParts(parts[0])
            case "dict":
                return {self.decode(key): self.decode(item) for key, item in parts[0]}
            case "object":
                return self.known[parts[0]]
            case "native":
                return self._native(data)
            case "enum":
                return self.decode(parts[0])[parts[1]]
            case "path":
                return Path(self.decode(parts[0]), parts[1], self.decode(parts[2]))
            case "record":
                values = [self.decode(part) for part in parts[1]]
                return _RECORDS[parts[0]](*values) if parts[0] != "Leaf" else tree.LEAF
        raise NotPortable(f"{kind} cannot be rebuilt")

    def sharing(self) -> list[Any]:
        """Which functions share their globals, and which free variables are the same: for each, the first that has
        it."""
        functions = [each for each in self.known if isinstance(each, FunctionType)]
        seen: dict[int, int] = {}
        shared: list[Any] = []
        for each in functions:
            cells = [seen.setdefault(id(cell), len(seen)) for cell in each.__closure__ or ()]
            shared.append([seen.setdefault(id(each.__globals__), len(seen)), cells])
        return shared


def _is_imported(value: object) -> bool:
    return isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value


def _members_of(kind: type) -> list[tuple[str, list[str]]]:
    """The names that a class defines, and the digests of the functions among their values."""
    members: list[tuple[str, list[str]]] = []
    for name, value in sorted(vars(kind).items()):
        parts = [getattr(value, part, None) for part in ("__func__", "fget", "fset", "fdel")]
        members.append((name, [digest_of(each) for each in (value, *parts) if isinstance(each, FunctionType)]))
    return members


def digest_of(function: FunctionType) -> str:
    """The digest of a function's code, with its place. It covers everything that is compiled from its text."""
    try:
        # Version 2 of the format does not depend on other references to a constant.
        dumped = marshal.dumps(function.__code__, 2)
    except ValueError:
        raise NotPortable(f"{function.__name__} has constants that are not in its source") from None
    names = repr((function.__module__, function.__name__, function.__qualname__))
    return _digest(dumped, names.encode())


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def key_of(data: Any) -> str:
    """A name for JSON data."""
    return _digest(json.dumps(data, separators=(",", ":")).encode())


# Objects of packages that do not change.


def is_settled_object(value: object) -> bool:
    """Whether a value is found under its own name in a package that does not change."""
    module, name = _name_of(value)
    if not isinstance(module, str) or not isinstance(name, str) or module.split(".")[0] not in _SETTLED:
        return False
    try:
        return _global(module, name) is value
    except (AttributeError, KeyError):
        return False


def _name_of(value: Any) -> tuple[Any, Any]:
    if isinstance(value, np.ufunc):
        return "numpy", value.__name__
    if not isinstance(value, type) and type(value).__module__.split(".")[0] not in _SETTLED:
        return None, None  # comparing such an object may do anything
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


def _global(module: str, name: str) -> Any:
    found = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _records() -> dict[str, Any]:
    """The classes in descriptions of specialisations: signatures, results, requests, pytrees."""
    modules = (results, signature, tree, request, kinds_of_derivatives, lanes_and_parts)
    found = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    return {each.__name__: each for each in (*found, Capture) if dataclasses.is_dataclass(each)}


_RECORDS = _records()
_FIELDS = {name: [each.name for each in dataclasses.fields(kind)] for name, kind in _RECORDS.items()}


def _bits(value: float) -> str:
    return np.float64(value).tobytes().hex()


def _complex(value: complex) -> Sequence[Any]:
    return ["complex", _bits(value.real), _bits(value.imag)]


def _number(bits: str) -> float:
    return float(np.frombuffer(bytes.fromhex(bits))[0])


_ATOMS: dict[type, Any] = {
    bool: lambda value: ["bool", int(value)],
    float: lambda value: ["float", _bits(value)],
    complex: _complex,
    bytes: lambda value: ["bytes", value.hex()],
    range: lambda value: ["range", value.start, value.stop, value.step],
    type(...): lambda value: ["..."],
}

_DECODE: dict[str, Any] = {
    "bool": bool,
    "int": lambda text: int(text, 16),
    "float": _number,
    "complex": lambda real, imaginary: complex(_number(real), _number(imaginary)),
    "bytes": bytes.fromhex,
    "range": range,
    "...": lambda: ...,
    "numpy": lambda dtype, bits: np.frombuffer(bytes.fromhex(bits), dtype)[0],
    "dtype": np.dtype,
    "global": _global,
    "module": lambda name: sys.modules[name],
}
