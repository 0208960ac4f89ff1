"""The frontend's entry: builds a module at stage `tensor` from a function or a request, and a signature.

Reads: Python functions. Writes: func.func, scf, nd, ad. Leaves: Built, which says how to call the module and how to
turn its results into Python values.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from mlirad.analysis.call_graph import DONATED, SHARED, WRITTEN, set_numbers
from mlirad.contract.captures import Capture, CaptureFindings
from mlirad.contract.interface import Interface, Reliance
from mlirad.contract.results import (
    ArgumentAlias,
)
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building, insert, located
from mlirad.dialect.core.op import NdOp
from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.frontend import parts  # noqa: F401  (they fill the tables of the dispatcher)
from mlirad.frontend.abandoned_uses import drop_abandoned_uses
from mlirad.frontend.aliases import Alias
from mlirad.frontend.bound_arguments import BoundArguments
from mlirad.frontend.built_results import Results
from mlirad.frontend.donation import paired
from mlirad.frontend.interpreter import dispatch, outside_objects
from mlirad.frontend.interpreter.calls.recursion import INLINED
from mlirad.frontend.interpreter.context import Context, Live
from mlirad.frontend.interpreter.grown_lists import NeedList
from mlirad.frontend.join.frames import Why
from mlirad.frontend.join.repeated_calls import RepeatedCalls
from mlirad.frontend.join.steering import Bottom, Restart
from mlirad.frontend.join.value_names import name_variable
from mlirad.frontend.program import libraries
from mlirad.frontend.program.foreseen_captures import foresee
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.poison import Poison, PoisonUsed, Unresolved
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import DATA, NeedStatic
from mlirad.frontend.values.values import Ref, Static, Tuple, Value
from mlirad.location import SourceLocation
from mlirad.process_setting import ProcessSetting
from mlirad.requests.python_functions import name_of, plain
from mlirad.requests.request import definition_of, parameters_of
from mlirad.signature import Signature
from mlirad.xdsl_support.traversal import defining_block

_NONE: Mapping[Any, type[NdOp]] = {}
# An abstract interpreter recurses as deeply as the program nests, unrolled iterations included.
_recursion_limit = ProcessSetting(sys.getrecursionlimit, sys.setrecursionlimit, lambda usual: max(usual, 20_000))


@dataclass(frozen=True)
class Built(Interface):
    """A module at stage `tensor`, how to call it, and what it relies on."""

    module: ModuleOp
    reliance: Reliance

    @property
    def has_shared_calls(self) -> bool:
        """Whether calls share functions of the module."""
        return any(SHARED in op.attributes for op in self.module.ops)


class NeedStaticLeaves(Exception):
    """Raised if these leaves of the arguments (by number) must be known: build again with
    `signature.with_static(values)`."""

    def __init__(
        self, leaves: frozenset[int], why: str, location: SourceLocation | None, callers: list[SourceLocation]
    ):
        super().__init__(why)
        self.leaves = leaves
        self.why = why
        self.location = location
        self.callers = callers


def build(
    function: Any,
    signature: Signature,
    boundscheck: bool = True,
    aliases: Mapping[int, Alias] | None = None,
    captures: Sequence[Capture] = (),
    together: Sequence[Sequence[int]] = (),
    donated: Set[int] = frozenset(),
    shares_calls: bool = True,
    live: Live | None = None,
    ops_of_target: Mapping[Any, type[NdOp]] = _NONE,
    *,
    keeps_rules: bool = False,
) -> Built:
    """Compile a Python function, or a request on one, for a signature.

    aliases: arguments that are views of others. captures: the captures known so far; `aliases` refers to them by
    number. together: sets of arguments that share memory in another way; a differentiated function must not write to
    them. donated: leaves, C-contiguous arrays; the function may reuse their memory for its results. shares_calls:
    whether calls of one function may become calls of one func.func. live: runs functions in Python. ops_of_target: the
    ops that calls of these functions become. keeps_rules: the module is differentiated, whether it asks for that or
    not.

    Raises CompileError if the program is refused, and NeedStaticLeaves if the values of some leaves must be known.
    """
    repeated = RepeatedCalls(shares_calls)
    given = function, signature, boundscheck, aliases, captures, together, donated
    try:
        return _build(*given, repeated, live, ops_of_target, keeps_rules)
    except CompileError:
        if not repeated.wanted:
            raise
    # Less is known around calls that share a function, so try again without sharing.
    alone = RepeatedCalls(False)
    return _build(*given, alone, None, ops_of_target, keeps_rules)


def _build(
    function: Any,
    signature: Signature,
    boundscheck: bool,
    aliases: Mapping[int, Alias] | None,
    captures: Sequence[Capture],
    together: Sequence[Sequence[int]],
    donated: Set[int],
    repeated: RepeatedCalls,
    live: Live | None,
    ops_of_target: Mapping[Any, type[NdOp]],
    keeps_rules: bool,
) -> Built:
    """Build again and again, until an attempt finds nothing that it should have known from the start."""
    function = plain(function)
    findings = CaptureFindings({capture.path: capture for capture in captures}, differentiates=keeps_rules)
    if not (captures or aliases or live):
        foresee(findings, function)
    unrolled: dict[Hashable, Why] = {}
    with _recursion_limit.changed():
        while True:
            repeated = repeated.again()
            try:
                attempt = Build(function, signature, boundscheck, findings, unrolled, repeated, aliases or {})
                attempt.together, attempt.donated, attempt.live = together, donated, live
                attempt.ops_of_target = ops_of_target
                built = attempt.run()
                if not findings.foreseen:
                    return built
                findings = findings.without_foreseen()
            except Restart:
                # Keep the findings: each round adds more.
                findings = findings.again()
            except NeedStatic as need:
                loops = {origin[1] for origin in need.origins if isinstance(origin, tuple) and origin[0] == "loop"}
                loops |= {origin for origin in need.origins if isinstance(origin, tuple) and origin[0] == INLINED}
                leaves = {origin[1] for origin in need.origins if isinstance(origin, tuple) and origin[0] == "argument"}
                refusal = need.refusal if isinstance(need, NeedList) else None
                if DATA in need.origins or not (loops - set(unrolled) or leaves):
                    if refusal is not None:
                        raise refusal from None
                    raise _called_like(need, _from_data(need)) from None
                if loops - set(unrolled):
                    unrolled |= dict.fromkeys(loops, Why(f"{need.what} depends on it", refusal))
                    findings = findings.again()
                    continue
                raise NeedStaticLeaves(frozenset(leaves), str(need), need.location, need.callers) from None
            except PoisonUsed as used:
                raise _called_like(used, _used(used.poison, used.location)) from None
            except CompileError as error:
                if (shown := libraries.reported(error)) is not error:
                    raise shown from None
                raise


def _called_like(cause: Unresolved, error: CompileError) -> CompileError:
    """The error, with the calls that led to it."""
    error.callers, error.library = cause.callers, cause.library
    return libraries.reported(error)


def _from_data(need: NeedStatic) -> CompileError:
    hint = "use a mask, np.where, or an array of fixed size and a count"
    return UnsupportedSyntaxError(f"{need}, and it depends on the contents of an array", need.location, hint)


def _used(poison: Poison, place: SourceLocation | None) -> CompileError:
    message = poison.why if poison.where is None else f"{poison.why} (joined at line {poison.where.lineno})"
    return UnsupportedSyntaxError(message, place or poison.where, poison.hint)


@dataclass
class Build:
    """One attempt."""

    function: Any
    signature: Signature
    boundscheck: bool
    findings: CaptureFindings
    unrolled: dict[Hashable, Why]
    repeated: RepeatedCalls
    aliases: Mapping[int, Alias] = field(default_factory=dict)
    together: Sequence[Sequence[int]] = ()
    donated: Set[int] = frozenset()
    live: Live | None = None
    ops_of_target: Mapping[Any, type[NdOp]] = field(default_factory=dict)

    def run(self) -> Built:
        name = re.sub(r"\W", "_", name_of(self.function)).strip("_") or "main"
        self.context = Context(self.findings, self.unrolled, self.boundscheck, frozenset({name}), self.repeated)
        context = self.context
        context.live, context.ops_of_target = self.live, self.ops_of_target
        context.location = place = definition_of(self.function)
        context.state = State(frames={0: {}})
        block = self.block = Block()
        with building(block), located(place), known_facts.scope():
            captures = tuple(self.findings.captures.values())
            self.arguments = BoundArguments(context, self.signature, self.aliases, self.together, captures)
            args, kwargs = self.arguments.bind(block)
            self.results = results = Results(context, name_of(self.function), self.arguments)
            if self.live is not None:
                self.live.start(block.args, self.arguments.keys)
            for name_of_parameter, value in zip(parameters_of(self.function), args, strict=False):
                name_variable(context.state, name_of_parameter, value)
            try:
                value: Value | None = context.use(
                    dispatch.call(context, outside_objects.object_value(context, self.function, None), args, kwargs)
                )
            except Bottom:
                value = None  # it certainly raises; its result does not matter, but its writes do
            raises = value is None
            context.location = place
            changes, items = self.arguments.containers.changes() if value is not None else ((), [])
            value = Static(None) if value is None else value
            structure, leaves = results.flattened(Tuple((value, *items)) if changes else value)
            try:
                specs = results.leaves(leaves)
            except NeedStatic as need:
                need.place(context.returned.get(name_of(self.function), place))
                raise
            written, captures_written = self.written(raises)
            insert(func.ReturnOp(*(result.value for result in self.results.exprs)))
        written_keys = {**written, **{-1 - k: v for k, v in captures_written.items()}}
        gifts = {} if self.results.pullbacks else paired(self.donated - written.keys(), self.signature.leaves, specs)
        module = self.module(name, block, written_keys, gifts)
        traced = tuple(key for key in self.arguments.keys if key >= 0)
        passed = tuple(-1 - key for key in self.arguments.keys if key < 0)
        captures = tuple(self.findings.captures.values())
        guards = tuple(self.findings.guards.values())
        return Built(
            name,
            traced,
            structure,
            tuple(specs),
            written,
            captures,
            passed,
            captures_written,
            context.writes_copies,
            context.changes_copies,
            changes,
            guards,
            module,
            Reliance(tuple(self.findings.used), tuple(self.findings.unkeyed)),
        )

    def module(self, name: str, block: Block, written: dict[int, int], donated: dict[int, int]) -> ModuleOp:
        """The module. `written` and `donated` give the numbers of results, by leaf, or by -1 - the number of a
        capture."""
        inputs = [argument.type for argument in block.args]
        main = func.FuncOp(
            name,
            FunctionType.from_lists(inputs, [result.type for result in self.results.exprs]),
            Region([block]),
            visibility="public",
        )
        places = {key: place for place, key in enumerate(self.arguments.keys)}
        set_numbers(
            main,
            {
                WRITTEN: {places[key]: number for key, number in written.items()},
                DONATED: {places[key]: number for key, number in donated.items()},
            },
        )
        main.location = types.to_location(definition_of(self.function))
        module = ModuleOp([main, *self.results.pullbacks, *self.context.functions])
        drop_abandoned_uses(module)
        return module

    def written(self, raises: bool) -> tuple[dict[int, int], dict[int, int]]:
        """The caller's arrays that the function changes, each with the result that holds its final content.

        raises: whether the function certainly raises. Then include only the arrays known to have changed before.
        """
        arguments: dict[int, int] = {}
        captures: dict[int, int] = {}
        for alias, array in self.arguments.arrays_of_caller():
            key = alias.leaf if isinstance(alias, ArgumentAlias) else -1 - alias.number
            if key in self.aliases:
                continue  # it is written with its base
            original = self.block.args[self.arguments.keys.index(key)]
            name = f"$argument {key}" if key >= 0 else list(self.findings.captures.values())[-1 - key].name
            if (name, 0) not in self.context.reached_by_writes:
                continue
            readonly = array.alternatives[0].view.readonly
            if readonly or (raises and not self.is_known(array)):
                continue
            contents = self.context.read(array).contents
            if contents.value is original:
                continue
            number = self.results.add(contents)
            if isinstance(alias, ArgumentAlias):
                arguments[alias.leaf] = number
            else:
                captures[alias.number] = number
        return arguments, captures

    def is_known(self, array: Ref) -> bool:
        """Whether an array's contents can be read at the end. A certain error in an inner block makes them
        unreadable."""
        store = self.context.state.store
        values = [store[each.cell].value for each in array.alternatives]
        return array.selector is None and all(defining_block(value) is self.block for value in values)
