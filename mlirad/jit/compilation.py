"""Gets the code of a specialisation: from the cache on disk, or by compiling it.

Reads: a function, a signature, the leaves of a call. Writes: compiled code, to disk. Gives: specialisations.

`asked` is the signature as the caller sees it; in `signature`, the leaves with values that the frontend needed are
static. `sharing` (JSON) says how arrays of the call share memory, for code that is compiled for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlirad import forking
from mlirad.contract.captures import Capture
from mlirad.contract.interface import Interface
from mlirad.errors import CompileError
from mlirad.jit.arguments import Input
from mlirad.jit.collect_rarely import collect_rarely
from mlirad.jit.disk_cache import disk_cache
from mlirad.jit.shared_memory import Recompile
from mlirad.jit.specialization import Specialization
from mlirad.options import Environment, Options
from mlirad.replaced_functions import require_originals
from mlirad.requests.python_functions import name_of
from mlirad.requests.request import definition_of
from mlirad.signature import ArrayLeaf, Layout, ScalarLeaf, Signature, StaticLeaf, leaves_of
from mlirad.slow_compilations import Compilation, watched
from mlirad.targets.finding import find_target, own_ops
from mlirad.targets.target import Artifact

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.analysis.decision_report import Fact
    from mlirad.frontend.aliases import Alias
    from mlirad.frontend.build import Built
    from mlirad.frontend.interpreter.context import Live
    from mlirad.pipeline import Lowered


def compile_for(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Specialization:
    """Compile a function for the signature, and for the values of the `leaves` that must be known at compile time.

    Or take the code from the disk cache; newly compiled code is stored there.
    """
    specialization = _from_disk(function, asked, leaves, options)
    if specialization is not None:
        return specialization

    def build(shares_calls: bool) -> tuple[Built, Signature]:
        return build_for(function, asked, leaves, options, shares_calls=shares_calls)

    return _compile_and_keep(function, asked, options, build)


def _from_disk(
    function: Any, asked: Signature, leaves: Sequence[Any], options: Options, sharing: Sequence[Any] = ()
) -> Specialization | None:
    cache = disk_cache(options, find_target(options.target, **options.for_target))
    wanted = None if cache is None else cache.wanted(function, asked, options, sharing)
    if cache is None or wanted is None or Environment.read().dump is not None:
        return None
    hit = cache.find(wanted, leaves)
    if hit is None:
        return None
    signature = asked.with_static({number: leaf.value for number, leaf in hit.static.items()})
    recompile = _Recompile(function, asked, options)
    return specialized(hit.interface, asked, signature, hit.artifact, recompile, is_aliased=bool(sharing))


def _compile_and_keep(
    function: Any,
    asked: Signature,
    options: Options,
    build: Callable[[bool], tuple[Built, Signature]],
    sharing: Sequence[Any] = (),
    *,
    is_aliased: bool = False,
) -> Specialization:
    """Compile the result of `build`, and keep the code on disk, if other processes can ask for it.

    build: takes whether calls may share functions.
    """
    cache = disk_cache(options, find_target(options.target, **options.for_target))
    is_kept = bool(sharing) or not is_aliased
    wanted = cache.wanted(function, asked, options, sharing) if cache is not None and is_kept else None
    with watched(name_of(function)), collect_rarely():
        built, signature = build(True)
        has_shared_calls = built.has_shared_calls  # the module is consumed
        try:
            specialization, code = _finish(function, asked, signature, options, built, built.module, is_aliased)
        except CompileError:
            if not has_shared_calls:
                raise
            # More is known about inlined calls, such as which arrays can be recomputed.
            built, signature = build(False)
            specialization, code = _finish(function, asked, signature, options, built, built.module, is_aliased)
    if cache is None or wanted is None or code is None:
        return specialization
    # The source may have changed since it was read.
    now = cache.wanted(function, asked, options, sharing)
    if now == wanted and now is not None:
        cache.keep(now, built, built.reliance, specialization.static, code)
    return specialization


def build_for(
    function: Any,
    asked: Signature,
    leaves: Sequence[Any],
    options: Options,
    aliases: Mapping[int, Alias] | None = None,
    captures: Sequence[Capture] = (),
    together: Sequence[Sequence[int]] = (),
    *,
    shares_calls: bool = True,
    live: Live | None = None,
    keeps_rules: bool = False,
) -> tuple[Built, Signature]:
    """The function at stage `tensor`, and its signature, in which the `leaves` with values that it needs are static.

    shares_calls: whether calls of the same function may share a func.func, if the target accepts that. live: runs the
    function in Python. keeps_rules: the module is differentiated, whether it asks for that or not.
    """
    require_originals(definition_of(function))
    from mlirad.dialect.ad.notes import bound_reverse_sweeps
    from mlirad.frontend.build import NeedStaticLeaves, build

    signature, target = asked, find_target(options.target, **options.for_target)
    shares_calls = shares_calls and target.shares_calls
    while True:
        try:
            # Code for arrays that share memory takes no donated arrays.
            donated = frozenset() if aliases or together else _donated(signature, options)
            given = (aliases, captures, together, donated, shares_calls, live, own_ops(target))
            built = build(function, signature, options.boundscheck, *given, keeps_rules=keeps_rules)
            if options.checkpoint is not None:
                bound_reverse_sweeps(built.module, options.checkpoint)
            return built, signature
        except NeedStaticLeaves as need:
            unknown = {number: leaves[number] for number in need.leaves}
            if any(not isinstance(signature.leaves[number], ScalarLeaf) for number in unknown):
                refusal = CompileError(need.why, need.location)
                refusal.callers = need.callers
                raise refusal from None
            signature = signature.with_static(unknown)


def _donated(signature: Signature, options: Options) -> frozenset[int]:
    """The leaves with arrays that results may overwrite."""
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


def _finish(
    function: Any,
    asked: Signature,
    signature: Signature,
    options: Options,
    built: Built,
    module: ModuleOp,
    is_aliased: bool = False,
) -> tuple[Specialization, str | None]:
    """The specialisation with the code `module`, which is at stage `tensor`; and the name under which its code is
    kept."""
    from mlirad import pipeline

    dump = Environment.read().dump
    place = None if dump is None else _dump_folder(dump, function)
    target = find_target(options.target, **options.for_target)
    cache = disk_cache(options, target)
    name: str | None = None

    def link(value: Any) -> Artifact:
        nonlocal name
        assert cache is not None
        artifact, name = cache.link(value)
        return artifact

    artifact = pipeline.compile_module(module, target, place, None if cache is None else link)
    recompile = _Recompile(function, asked, options)
    return specialized(built, asked, signature, artifact, recompile, is_aliased), name


def specialized(
    built: Interface,
    asked: Signature,
    signature: Signature,
    artifact: Artifact,
    recompile: Recompile[Specialization],
    is_aliased: bool = False,
) -> Specialization:
    """The specialisation for `asked`, with the leaves of `signature` known, and its code."""
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
    return Specialization(built, artifact, signature, static, tuple(inputs), recompile, is_aliased)


def _owner(argument: int | str) -> str:
    return f"argument {argument}" if isinstance(argument, int) else f"argument {argument!r}"


def _dump_folder(dump: Path, function: Any) -> Path:
    name = getattr(function, "__name__", "function")
    name = "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "function"
    try:
        (dump / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"MLIRAD_DUMP={dump}: {error.strerror}", error.filename) from None
    return dump / name


@dataclass(frozen=True)
class _Recompile:
    """Gets another version of a function's code, for arguments that share memory."""

    function: Any
    asked: Signature
    options: Options

    def from_disk(self, leaves: Sequence[Any], sharing: Sequence[Any]) -> Specialization | None:
        return _from_disk(self.function, self.asked, leaves, self.options, sharing)

    def compile(
        self, aliases: Mapping[int, Alias], captures: Sequence[Capture], leaves: Sequence[Any], sharing: Sequence[Any]
    ) -> Specialization:
        def build(shares_calls: bool) -> tuple[Built, Signature]:
            return build_for(
                self.function, self.asked, leaves, self.options, aliases, captures, shares_calls=shares_calls
            )

        return _compile_and_keep(self.function, self.asked, self.options, build, sharing, is_aliased=True)

    def probe(self, together: Sequence[Sequence[int]], captures: Sequence[Capture], leaves: Sequence[Any]) -> None:
        build_for(self.function, self.asked, leaves, self.options, None, captures, together)


def lower(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Lowered:
    """The function at stage `tensor`, to be shown or compiled."""
    target = find_target(options.target, **options.for_target)
    from mlirad.pipeline import Lowered, differentiate

    with watched(name_of(function)) as compilation:
        built, signature = build_for(function, asked, leaves, options)
        if built.has_shared_calls:
            try:
                differentiate(built.module.clone())
            except CompileError:
                built, signature = build_for(function, asked, leaves, options, shares_calls=False)

    def finish(module: ModuleOp) -> Callable[..., Any]:
        with forking.whole():
            specialization, _ = _finish(function, asked, signature, options, built, module)

        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(leaves_of(asked, args, kwargs), specialization.containers(function, args, kwargs))

        return call

    return Lowered(built.module, target, finish, built.name, tuple(_noted(asked, signature, compilation)))


def _noted(asked: Signature, signature: Signature, compilation: Compilation) -> Iterator[Fact]:
    """The frontend's decisions: which arguments are known while compiling, and which loops are unrolled."""
    from mlirad.analysis.decision_report import Fact, Kind

    owners = asked.argument_of()
    for number, (before, after) in enumerate(zip(asked.leaves, signature.leaves, strict=True)):
        if isinstance(after, StaticLeaf) and not isinstance(before, StaticLeaf):
            subject = f"{_owner(owners[number])} is {after.value!r}, and other values have code of their own"
            yield Fact(Kind.SPECIALISED, None, subject, "a shape, an axis or an unrolled loop depends on it")
    for place, loop in compilation.loops.items():
        yield Fact(Kind.UNROLLED, place, "the body of this loop, once for each trip", loop.why)
