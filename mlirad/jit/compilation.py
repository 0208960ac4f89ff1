"""Gets the code of a specialisation: from the cache on disk, or by compiling it.

Reads: a function, a signature, the leaves of a call. Writes: what was compiled, to disk. Gives: specialisations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlirad import forking
from mlirad.contract.captures import Capture
from mlirad.contract.interface import Interface
from mlirad.errors import CompileError
from mlirad.jit.arguments import Input
from mlirad.jit.collect_rarely import collect_rarely
from mlirad.jit.disk_cache import disk_cache
from mlirad.jit.specialization import Specialization, leaves_of
from mlirad.options import Environment, Options
from mlirad.replaced import require_originals
from mlirad.requests import definition_of, name_of
from mlirad.signature import ArrayLeaf, Layout, ScalarLeaf, Signature, StaticLeaf
from mlirad.slow_compilations import watched
from mlirad.targets.target import Artifact, find_target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.frontend.aliases import Alias
    from mlirad.frontend.build import Built
    from mlirad.jit.specialization import Probe, Remake
    from mlirad.pipeline import Lowered


def build_for(
    function: Any,
    asked: Signature,
    leaves: Sequence[Any],
    options: Options,
    aliases: Mapping[int, Alias] | None = None,
    captures: Sequence[Capture] = (),
    together: Sequence[Sequence[int]] = (),
) -> tuple[Built, Signature]:
    """The function at stage `tensor`, and the signature with those of `leaves` made static whose values it needs."""
    require_originals(definition_of(function))
    from mlirad.frontend.build import NeedStaticLeaves, build

    signature = asked
    while True:
        try:
            # Code for arrays that share memory takes none of it.
            donated = frozenset() if aliases or together else _donated(signature, options)
            return build(function, signature, options.boundscheck, aliases, captures, together, donated), signature
        except NeedStaticLeaves as need:
            unknown = {number: leaves[number] for number in need.leaves}
            if any(not isinstance(signature.leaves[number], ScalarLeaf) for number in unknown):
                refusal = CompileError(need.why, need.location)
                refusal.callers = need.callers
                raise refusal from None
            signature = signature.with_static(unknown)


def _donated(signature: Signature, options: Options) -> frozenset[int]:
    """The leaves whose arrays results may take the memory of."""
    if not options.donate_argnums:
        return frozenset()
    return frozenset(
        number
        for number, (owner, leaf) in enumerate(zip(signature.argument_of(), signature.leaves, strict=True))
        if owner in options.donate_argnums
        and isinstance(leaf, ArrayLeaf)
        and leaf.layout is Layout.C
        and not leaf.readonly
    )


def specialized(
    built: Interface,
    asked: Signature,
    signature: Signature,
    artifact: Artifact,
    remake: Remake,
    probe: Probe,
    is_aliased: bool = False,
) -> Specialization:
    """What was built for `asked`, with the leaves of `signature` known, together with its code."""
    owners = asked.argument_of()
    inputs = [Input(leaf, None, leaf, _owner(owners[leaf]), leaf in built.written) for leaf in built.leaves]
    inputs += [
        Input(None, (path := built.captures[k].path).fetch, -1 - k, str(path), k in built.captures_written)
        for k in built.passed
    ]
    static = {
        number: after
        for number, (before, after) in enumerate(zip(asked.leaves, signature.leaves, strict=True))
        if isinstance(after, StaticLeaf) and not isinstance(before, StaticLeaf)
    }
    return Specialization(built, artifact, signature, static, tuple(inputs), remake, probe, is_aliased)


def _again(function: Any, asked: Signature, options: Options) -> tuple[Remake, Probe]:
    """How the function is compiled again for arguments that share memory."""

    def remake(
        aliases: Mapping[int, Alias] | None, captures: Sequence[Capture], leaves: Sequence[Any], told: Sequence[Any]
    ) -> Specialization | None:
        if aliases is None:
            return _from_disk(function, asked, leaves, options, told) if told else None

        def make() -> tuple[Built, Signature]:
            return build_for(function, asked, leaves, options, aliases, captures)

        return _made_and_kept(function, asked, options, make, told, is_aliased=True)

    def probe(together: Sequence[Sequence[int]], captures: Sequence[Capture], leaves: Sequence[Any]) -> None:
        build_for(function, asked, leaves, options, None, captures, together)

    return remake, probe


def _finish(
    function: Any,
    asked: Signature,
    options: Options,
    made: tuple[Built, Signature],
    module: ModuleOp,
    is_aliased: bool = False,
) -> tuple[Specialization, str | None]:
    """The specialisation whose code is `module`, which is at stage `tensor`; and under what name its code is kept."""
    from mlirad import pipeline

    dump = Environment.read().dump
    place = dump / _dump_name(function) if dump is not None else None
    target = find_target(options.target, **options.for_target)
    kept = disk_cache(options, target)
    name: str | None = None

    def link(value: Any) -> Artifact:
        nonlocal name
        assert kept is not None
        artifact, name = kept.link(value)
        return artifact

    artifact = pipeline.compile_module(module, target, place, None if kept is None else link)
    return specialized(made[0], asked, made[1], artifact, *_again(function, asked, options), is_aliased), name


def _owner(argument: int | str) -> str:
    return f"argument {argument}" if isinstance(argument, int) else f"argument {argument!r}"


def compile_for(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Specialization:
    """Compile a function for the signature, and for those of `leaves` whose values turn out to be needed.

    Or take it from the cache on disk; what is compiled is kept there.
    """
    found = _from_disk(function, asked, leaves, options)
    if found is not None:
        return found
    return _made_and_kept(function, asked, options, lambda: build_for(function, asked, leaves, options))


def _from_disk(
    function: Any, asked: Signature, leaves: Sequence[Any], options: Options, shared: Sequence[Any] = ()
) -> Specialization | None:
    kept = disk_cache(options, find_target(options.target, **options.for_target))
    wanted = None if kept is None else kept.wanted(function, asked, options, shared)
    if kept is None or wanted is None or Environment.read().dump is not None:
        return None
    hit = kept.find(wanted, leaves)
    if hit is None:
        return None
    signature = asked.with_static({number: leaf.value for number, leaf in hit.static.items()})
    again = _again(function, asked, options)
    return specialized(hit.interface, asked, signature, hit.artifact, *again, is_aliased=bool(shared))


def _made_and_kept(
    function: Any,
    asked: Signature,
    options: Options,
    make: Callable[[], tuple[Built, Signature]],
    shared: Sequence[Any] = (),
    *,
    is_aliased: bool = False,
) -> Specialization:
    """What is compiled of what `make` gives, and kept on disk, if other processes can ask for it."""
    kept = disk_cache(options, find_target(options.target, **options.for_target))
    is_kept = kept is not None and (bool(shared) or not is_aliased)
    wanted = kept.wanted(function, asked, options, shared) if kept is not None and is_kept else None
    with watched(name_of(function)), collect_rarely():
        made = make()
        specialization, code = _finish(function, asked, options, made, made[0].module, is_aliased)
    if kept is None or wanted is None or code is None:
        return specialization
    # The source may have changed since it was looked at.
    again = kept.wanted(function, asked, options, shared)
    if again == wanted and again is not None:
        kept.keep(again, made[0], made[0].reliance, specialization.static, code)
    return specialization


def lower(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Lowered:
    """The function at stage `tensor`, to be looked at or compiled."""
    target = find_target(options.target, **options.for_target)
    made = build_for(function, asked, leaves, options)
    from mlirad.pipeline import Lowered

    def finish(module: ModuleOp) -> Callable[..., Any]:
        with forking.whole():
            specialization, _ = _finish(function, asked, options, made, module)

        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(leaves_of(asked, args, kwargs), specialization.containers(function, args, kwargs))

        return call

    return Lowered(made[0].module, target, finish, made[0].name)


def _dump_name(function: Any) -> str:
    name = getattr(function, "__name__", "function")
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "function"
