"""Finds targets by name, and refuses invalid ones, naming the package that they come from and the remedy.

Reads: entry points of the group `mlirad.targets`, lazily: a package is imported when its target is requested, so that a
broken package affects no other target. Writes: nothing. Leaves: a `Target`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlirad.errors import TargetError
from mlirad.options import OWN_OPTIONS, SHARED_OPTIONS, Environment, Options
from mlirad.stages import SHARED
from mlirad.targets.target import API_VERSION, Stage, Target

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from mlirad.dialect.core.op import NdOp

GROUP = "mlirad.targets"
BUILT_IN = {
    "cpu": "mlirad.targets.cpu:CpuTarget",
    "python": "mlirad.targets.python:PythonTarget",
    "ascend": "mlirad.targets.ascend:AscendTarget",
}
"""mlirad's own entry points: searching the installed packages takes longer than loading code from the cache."""


@dataclass(frozen=True)
class Found:
    """An entry point: the class that it names, as text, and the package that declares it."""

    value: str
    package: str
    point: EntryPoint | None = None

    def load(self) -> Any:
        """The object that it names. Raises whatever importing it raises."""
        if self.point is not None:
            return self.point.load()
        module, _, attribute = self.value.partition(":")
        return getattr(import_module(module), attribute)


def installed_targets() -> Mapping[str, tuple[Found, ...]]:
    """The packages that declare each name: exactly one, if all is well."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[Found, ...]] = {name: (Found(value, "mlirad"),) for name, value in BUILT_IN.items()}
    for point in entry_points(group=GROUP):
        if point.value != BUILT_IN.get(point.name):
            each = Found(point.value, "" if point.dist is None else point.dist.name, point)
            others = found.get(point.name, ())
            if not any((each.value, each.package) == (other.value, other.package) for other in others):
                found[point.name] = (*others, each)
    return found


def target_names() -> tuple[str, ...]:
    """The names of the installed targets."""
    return tuple(sorted(installed_targets()))


def find_target(name: str, **options: Any) -> Target:
    """The target of that name with these options. Raises TargetError for an unknown name or option, and for a package
    with an unusable target."""
    cls = target_class(name)
    known = _options_of(name, cls)
    _require_installed(Environment.target_options())
    for option in options:
        if option not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise TargetError(f"target {name!r} has no option {option!r}", hint=f"its options are: {listed}")
    return cls(**options)


def option_names(name: str) -> tuple[str, ...]:
    """The options that the target of that name declares. Raises TargetError for an unknown name."""
    return _options_of(name, target_class(name))


def stages_of(target: Target) -> tuple[Stage, ...]:
    """The target's stages. Raises TargetError if two have one name, or the one to be loaded is missing."""
    stages = target.stages()
    names = [stage.name for stage in stages]
    for number, name in enumerate(names):
        if name in SHARED or name in names[:number]:
            hint = f"its package has to rename one; it lists {', '.join(names)} after {', '.join(SHARED)}"
            raise TargetError(f"target {target.name!r} has two stages {name!r}", hint=hint)
    if target.loads not in names:
        hint = f"`loads` has to be one of {', '.join(names) or 'them, and there are none'}"
        raise TargetError(f"target {target.name!r} has no stage {target.loads!r}, which it says it loads", hint=hint)
    return stages


def described(target: Target) -> str:
    """The target's name, and what runs its code if that is not the device."""
    runtime = target.runtime_info()
    return target.name if runtime.kind == "native" else f"{target.name}, {runtime}"


def own_ops(target: Target) -> dict[Any, type[NdOp]]:
    """The ops of the target's own dialects, by the functions that they implement."""
    if type(target).dialects is Target.dialects:
        return {}
    from mlirad.dialect.core.op import NdOp

    ops = [each for dialect in target.dialects() for each in dialect.operations if issubclass(each, NdOp)]
    return {function: each for each in ops for function in each.spellings}


def _options_of(name: str, cls: type[Target]) -> tuple[str, ...]:
    names = tuple(each.name for each in fields(cls) if each.init) if is_dataclass(cls) else ()
    for each in names:
        if each in OWN_OPTIONS and each not in SHARED_OPTIONS:
            raise TargetError(f"target {name!r} declares the option {each!r}, which every kernel has")
    return names


def target_class(name: str) -> type[Target]:
    """The class of the target of that name. Raises TargetError."""
    if name == Options.target:
        found = Found(BUILT_IN[name], "mlirad")  # without searching the installed packages
    else:
        installed = installed_targets()
        owners = installed.get(name)
        if owners is None:
            listed = ", ".join(sorted(installed))
            raise TargetError(f"there is no target {name!r}", hint=f"the targets installed are: {listed}")
        found, *others = owners
        if others:
            raise _two_owners(name, owners)
    try:
        cls = found.load()
    except Exception as error:
        raise TargetError(
            f"target {name!r} ({found.value}) cannot be imported: {type(error).__name__}: {error}",
            hint=f"install what the package {found.package} needs, or uninstall it",
        ) from error
    _require_interface(name, cls, found)
    return cls


def _require_interface(name: str, cls: Any, found: Found) -> None:
    described = f"target {name!r} ({found.value}, of the package {found.package})"
    if not (isinstance(cls, type) and issubclass(cls, Target)):
        raise TargetError(f"{described} is not a mlirad.targets.target.Target")
    version = getattr(cls, "api_version", None)
    ours = ".".join(map(str, API_VERSION))
    if not (isinstance(version, tuple) and len(version) == 2):
        hint = f"its class has to say `api_version = {API_VERSION}`, as a literal"
        raise TargetError(f"{described} does not say which version of the interface it was written for", hint=hint)
    if version[0] != API_VERSION[0] or version[1] > API_VERSION[1]:
        which = "mlirad" if version > API_VERSION else found.package
        raise TargetError(
            f"{described} was written for version {'.'.join(map(str, version))} of the interface, and this is {ours}",
            hint=f"upgrade {which}",
        )
    if getattr(cls, "name", None) != name:
        hint = "its class and its entry point have to give it one name"
        raise TargetError(f"{described} calls itself {getattr(cls, 'name', None)!r}", hint=hint)
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise TargetError(f"{described} lacks {', '.join(missing)}", hint=f"upgrade {found.package}")


def _require_installed(named: Collection[str]) -> None:
    """Raise TargetError if MLIRAD_TARGET_OPTIONS names an unknown target."""
    others = set(named) - set(BUILT_IN)
    if others and (unknown := others - set(installed := target_names())):
        hint = f"the targets installed are: {', '.join(installed)}"
        raise TargetError(f"MLIRAD_TARGET_OPTIONS: there is no target {min(unknown)!r}", hint=hint)


def _two_owners(name: str, owners: tuple[Found, ...]) -> TargetError:
    listed = " and ".join(sorted(f"{each.package} ({each.value})" for each in owners))
    return TargetError(f"several packages declare the target {name!r}: {listed}", hint="uninstall all but one")
