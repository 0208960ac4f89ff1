"""The cache of compiled code on disk, in two levels.

A specialisation is found by its source, signature, options, versions and processor. These lead to a few entries, each
with the guards that must hold, a description of its interface, and the name of its object code. Object code is found by
the LLVM IR that it was compiled from. On a hit neither xDSL nor the frontend is imported.

Reads and writes: a Store. Leaves: interfaces and object code. Code that means nothing in another process is not kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.contract.captures import UNREACHABLE, Capture, Guard, Presence, keys_of
from mlirad.contract.captures import Path as CapturePath
from mlirad.contract.interface import Interface, Reliance
from mlirad.dialect_version import DIALECT_VERSION
from mlirad.jit.disk_store import Store
from mlirad.jit.portable import NotPortable, ObjectTable, key_of
from mlirad.library.own_rules import REGISTERED
from mlirad.options import OWN_OPTIONS, Environment, Options
from mlirad.signature import Signature, StaticLeaf
from mlirad.targets.target import Artifact, Target

MAX_VARIANTS = 8
"""How many entries are kept for a source and signature: they differ in static values and in guards."""
MAX_DEPTH = 500
"""How deep JSON may be nested in an entry: reading it uses the native stack."""
_NONSENSE = (
    NotPortable,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
    SyntaxError,  # of the name of a dtype
)
"""Exceptions from reading an undamaged entry that mlirad did not write."""
_PACKAGE = Path(__file__).parents[1]
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
_FIELDS = [each.name for each in dataclasses.fields(Interface) if each.name != "guards"]


@dataclass(frozen=True)
class Wanted:
    """A function and a signature, as the cache knows them. objects: the functions and classes that they refer to."""

    key: str
    objects: ObjectTable = field(compare=False)


@dataclass(frozen=True)
class Hit:
    """A found entry: code, its interface, and the leaves of the arguments that it was specialised on."""

    interface: Interface
    artifact: Artifact
    static: Mapping[int, StaticLeaf]


def disk_cache(options: Options, target: Target) -> DiskCache | None:
    """A target's cache in the directory that the environment names; None if it is off."""
    root = Environment.read().cache
    if root is None or not options.cache:
        return None
    versions = _versions()
    of_target = _target_options(options)
    if versions is None or of_target is None:
        return None
    return DiskCache(_store(root), target, [*versions, target.fingerprint(), *of_target])


def _target_options(options: Options) -> list[str] | None:
    """The target's options, on which all its code depends; None if a value means nothing in another process."""
    try:
        return [json.dumps([name, ObjectTable().encode(leaf.value)]) for name, leaf in options.of_target]
    except (NotPortable, RecursionError):
        return None


@cache
def _store(root: Path) -> Store:
    return Store(root)


class DiskCache:
    """The cache of one target. If anything fails, the function is compiled as if there were no cache."""

    def __init__(self, store: Store, target: Target, base: Sequence[str]):
        self.store = store
        self.target = target
        self._base = base  # all software, the processor, and the target's options

    def wanted(self, function: Any, asked: Signature, options: Options, shared: Sequence[Any] = ()) -> Wanted | None:
        """The key to look for; None if another process could not ask for it. shared: which arguments are views of
        which others, as JSON."""
        objects = ObjectTable()
        try:
            request = [objects.encode(function), objects.encode(asked)]
            request += [objects.encode(rule.described) for rule in REGISTERED.values()]
        except (NotPortable, RecursionError):  # of containers within containers
            return None
        listed = [[name, repr(getattr(options, name))] for name in OWN_OPTIONS if name != "cache"]
        return Wanted(key_of(["specialisation", *self._base, listed, *request, shared]), objects)

    def find(self, wanted: Wanted, leaves: Sequence[Any]) -> Hit | None:
        """Code that is valid for the function as it is now, and for the values of these leaves."""
        for number in range(MAX_VARIANTS):
            content = self.store.get(name := f"{wanted.key}-{number}")
            if content is None:
                continue
            with contextlib.suppress(*_NONSENSE):
                entry = _parsed(content)
                known = _read(entry, wanted.objects.copy(), leaves)
                if known is None:
                    continue
                code = self.store.get(entry["object"])
                artifact = None if code is None else self._load(entry["object"], code)
                if artifact is not None:
                    return Hit(known[0], artifact, known[1])
            self.store.drop(name)  # its code is gone, or mlirad did not write its content
        return None

    def keep(
        self,
        wanted: Wanted,
        interface: Interface,
        reliance: Reliance,
        static: Mapping[int, StaticLeaf],
        code: str,
    ) -> bool:
        """Keep a specialisation with the object code in the entry `code`. Returns whether that was possible."""
        try:
            entry = _written(wanted.objects.copy(), interface, reliance, static)
        except (NotPortable, RecursionError):
            return False
        entry["object"] = code
        content = json.dumps(entry, separators=(",", ":")).encode()
        return self.store.put(self._place_for(wanted.key, content), content)

    def _place_for(self, key: str, content: bytes) -> str:
        """The place of an equal entry of another process, a free place, or the place of the least recently used
        entry."""
        names = [f"{key}-{number}" for number in range(MAX_VARIANTS)]
        ages = {name: self.store.age(name) or 0.0 for name in names}  # before they are read, which counts as use
        free: str | None = None
        for name in names:
            found = self.store.get(name)
            if found == content:
                return name
            if found is None and free is None:
                free = name
        # A process that writes there meanwhile has found the same place free, and usually writes the same.
        return free or min(names, key=ages.__getitem__)

    def link(self, value: Any) -> tuple[Artifact, str | None]:
        """The target's code for the value of its stage `loads`, and the name of its entry, if any."""
        if not isinstance(value, str):
            return self.target.load(self.target.compile(value), self.code), None
        name = key_of(["object", *self._base, value])
        code = self.store.get(name)
        artifact = None if code is None else self._load(name, code)
        if artifact is not None:
            return artifact, name
        code = self.target.compile(value)
        artifact = self.target.load(code, self.code)
        return artifact, name if self.store.put(name, code) else None

    def code(self, what: str, make: Callable[[], bytes]) -> bytes:
        """Code that depends only on `what`, the software and the processor."""
        name = key_of(["code", *self._base, what])
        found = self.store.get(name)
        if found is None:
            found = make()
            self.store.put(name, found)
        return found

    def _load(self, name: str, code: bytes) -> Artifact | None:
        try:
            return self.target.load(code, self.code)
        except (RuntimeError, OSError, *_NONSENSE):
            self.store.drop(name)
            return None


def _written(
    objects: ObjectTable, interface: Interface, reliance: Reliance, static: Mapping[int, StaticLeaf]
) -> dict[str, Any]:
    """The entry without its object code. Its guards are ordered so that each function is checked before its
    contents."""
    if not reliance.is_keyed:
        raise NotPortable("it relies on an object that means nothing in another process")
    pending: list[Guard] = list(interface.guards)
    guards: list[Any] = []
    while pending:
        ready = [each for each in pending if each.path.function in objects]
        if not ready:
            raise NotPortable("a function is not where another process would find it")
        guard = ready[0]
        pending = [each for each in pending if each is not guard]
        keys = None if guard.keys is None else objects.encode(guard.keys)
        guards.append([_encoded_place(objects, guard.path), keys, objects.encode(guard.value)])
    with objects.closed():
        for each in reliance.used:
            if each not in objects:
                raise NotPortable("a function is not where another process would find it")
        described = [objects.encode(_plain_dict(getattr(interface, name))) for name in _FIELDS]
        for each in described:
            objects.decode(each)  # otherwise it could not be decoded later
        known = objects.encode({number: leaf.value for number, leaf in static.items()})
    return {"static": known, "guards": guards, "interface": described, "sharing": objects.sharing()}


def _parsed(content: bytes) -> Any:
    """JSON that is not nested too deeply. Raises ValueError."""
    outside_strings = _STRING.sub(b"", content)
    brackets = outside_strings.translate(None, _NO_BRACKETS)
    depths = itertools.accumulate(1 if each in b"[{" else -1 for each in brackets)
    if max(depths, default=0) > MAX_DEPTH:
        raise ValueError("the entry is nested too deeply")
    return json.loads(content)


def _plain_dict(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _encoded_place(objects: ObjectTable, place: CapturePath) -> Any:
    with objects.closed():
        return objects.encode(place)


def _read(entry: Any, objects: ObjectTable, leaves: Sequence[Any]) -> tuple[Interface, dict[int, StaticLeaf]] | None:
    """The interface that an entry describes, if its conditions hold here and now."""
    static = {number: StaticLeaf(value) for number, value in objects.decode(entry["static"]).items()}
    for number, leaf in static.items():
        if StaticLeaf(leaves[number]) != leaf:
            return None
    guards: list[Guard] = []
    for place, keys, wanted in entry["guards"]:
        guard = _found(objects, objects.decode(place), keys, wanted)
        if guard is None:
            return None
        guards.append(guard)
    if objects.sharing() != entry["sharing"]:
        return None
    described = [objects.decode(each) for each in entry["interface"]]
    interface = Interface(**dict(zip(_FIELDS, described, strict=True)), guards=tuple(guards))
    return (interface, static) if all(map(_holds, interface.captures)) else None


def _holds(asked: Guard | Capture) -> bool:
    try:
        return asked.holds()
    except Exception:  # noqa: BLE001 - a property of the user's may raise anything
        return False


def _found(objects: ObjectTable, path: CapturePath, keys: Any, wanted: Any) -> Guard | None:
    """The guard, if the object at its path is the one that the entry describes."""
    presence = next((each for each in Presence if objects.encode(each) == wanted), None)
    if presence is not None:
        guard = Guard(path, presence)
        return guard if _holds(guard) else None
    if not _holds(Guard(path, Presence.HERE)):
        return None
    with contextlib.suppress(NotPortable, *UNREACHABLE):
        value = path.fetch()
        found = value if keys is None else type(value)
        if objects.encode(found) == wanted and (keys is None or objects.encode(keys_of(value)) == keys):
            code = value.__code__ if isinstance(value, FunctionType) and path == CapturePath(value, "") else None
            return Guard(path, found, None if keys is None else keys_of(value), code)
    return None


@cache
def _versions() -> tuple[str, ...] | None:
    """All software that code depends on, except what a target's fingerprint covers; None if that is unknown."""
    source = _source()
    python = (sys.version, str(sys.implementation.cache_tag), f"O{sys.flags.optimize}")
    libraries = (np.__version__, *_installed(), f"dialects {DIALECT_VERSION}")
    return (*python, *libraries, source) if source else None


def _installed() -> list[str]:
    """The versions of xDSL and of SciPy (which decides dtypes), as pip wrote them beside xDSL. Asking
    importlib.metadata takes longer than loading code."""
    import xdsl  # this imports nothing of it

    try:
        beside = os.listdir(Path(xdsl.__file__).parents[1])
    except OSError:
        beside = []
    found = sorted(each for each in beside if each.startswith(("xdsl-", "scipy-")) and each.endswith("-info"))
    is_known = sum(each.startswith("xdsl-") for each in found) == 1
    return found if is_known else [str(xdsl.__version__), *found]


def _source() -> str:
    """A digest of mlirad's own source; empty if there is none to read."""
    digest, count = hashlib.blake2b(digest_size=16), 0
    try:
        for directory, folders, files in os.walk(_PACKAGE):
            folders.sort()
            for name in sorted(each for each in files if each.endswith(".py")):
                path = os.path.join(directory, name)
                digest.update(os.path.relpath(path, _PACKAGE).encode() + b"\0")
                with open(path, "rb") as file:
                    digest.update(hashlib.blake2b(file.read()).digest())
                count += 1
    except OSError:
        return ""
    return digest.hexdigest() if count else ""
