"""The table effect x verb: each verb does what its cell says, and ARCHITECTURE.md says the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, context, expand
from xdsl.dialects import func, scf
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect

from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.tape.decision.recovery import Recovery
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.tape import TapeOp, new_tape
from mlirad.dialect.core import op as ops
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.derivative import OneOperandOp
from mlirad.dialect.core.effect_table import TABLE, Effect, Rule, Verb, effect_of, may, rule
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.ops.check import EffectOp
from mlirad.dialect.ops.choice import MaximumOp
from mlirad.errors import DifferentiationError
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.clean_up.hoist import Hoist
from mlirad.testing.derivatives import check_jvp, check_vjp
from mlirad.testing.expr_functions import ask_jvp, ask_vjp, for_loop, function, get, put
from mlirad.testing.interpreter import Interpreter

ROOT = Path(__file__).resolve().parents[3]
TRIPS = 5
ARRAY = types.tensor([TRIPS], types.F64)
TAPE = types.tensor([2], types.F64)


# --- an op for each effect, outside of mlirad's dialects, so that other tests do not see it ----------------------


class SameNumber(OneOperandOp):
    """Returns its operand: the result of the ops below, apart from their effects."""

    x = operand_def(types.F64)
    result = result_def(types.F64)

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [types.F64]

    def reference(self, x: Any) -> Any:
        return x

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return dx

    def loops(self) -> Upstream:
        return Upstream(lambda x: [AddfOp(x, x).result])


@ops.op()
class Note(SameNumber):
    """Represents a print."""

    name = "test.note"
    traits = traits_def(MemoryWriteEffect())

    def replayed(self, recorded: Sequence[Expr]) -> Sequence[Expr]:
        return [Expr(self.operands[0]) + (recorded[0] - recorded[0])]


@ops.op()
class Require(SameNumber, EffectOp):
    """Represents a check that returns the checked value."""

    name = "test.require"

    def recomputed(self, *operands: Any) -> tuple[Expr, ...]:
        return (Expr(operands[0]),)


def on_memory(x: Expr) -> Expr:
    return get(put(x, new_tape(TAPE, 2), 1), 1)


SAMPLES: dict[Effect, tuple[type[NdOp], Callable[[Expr], Expr]]] = {
    Effect.NONE: (MaximumOp, lambda x: emit(MaximumOp, x, constant(0.1, types.F64))),
    Effect.OWN_MEMORY: (TapeOp, on_memory),
    Effect.MAY_FAIL: (Require, lambda x: emit(Require, x)),
    Effect.ORDERED: (Note, lambda x: emit(Note, x)),
}
USES: dict[Effect, Callable[[Expr], Expr]] = {
    **{effect: use for effect, (_, use) in SAMPLES.items()},
    Effect.OWN_MEMORY: lambda x: get(new_tape(TAPE, 2), 1),  # nothing writes it: it could be moved, if allowed
}


def all_of(effect: Effect, module: Operation) -> list[Operation]:
    return [op for op in module.walk() if type(op) is SAMPLES[effect][0]]


def made(body: Callable[..., Any], *arguments: Attribute) -> ModuleOp:
    module = ModuleOp([])
    function(module, "f", arguments, body)
    module.verify()
    return module


# --- what each verb does with it --------------------------------------------------------------------------------


def is_removed(effect: Effect) -> Rule:
    def body(x: Expr) -> Expr:
        USES[effect](x)
        return x

    module = made(body, types.F64)
    assert all_of(effect, module)
    Dce().apply(context(), module)
    return Rule.FORBIDDEN if all_of(effect, module) else Rule.ALLOWED


def is_cached(effect: Effect) -> Rule:
    module = made(lambda x: USES[effect](x) * USES[effect](x), types.F64)
    assert len(all_of(effect, module)) == 2
    Cse().apply(context(), module)
    return Rule.FORBIDDEN if len(all_of(effect, module)) == 2 else Rule.ALLOWED


def is_hoisted(effect: Effect) -> Rule:
    def trip(i: Expr, s: Expr, x: Expr) -> Expr:
        return s + USES[effect](x)

    module = made(lambda x: for_loop(TRIPS, [x], lambda i, s: trip(i, s, x))[0], types.F64)
    (loop,) = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    assert all_of(effect, loop)
    Hoist().apply(context(), module)
    assert all_of(effect, module)
    return Rule.FORBIDDEN if all_of(effect, loop) else Rule.ALLOWED


def product(effect: Effect) -> Callable[[Expr], Expr]:
    """The product of all elements, each passed through the op: the derivative needs the op's result."""

    def body(x: Expr) -> Expr:
        return for_loop(TRIPS, [constant(1.0, types.F64)], lambda i, s: s * SAMPLES[effect][1](get(x, i)))[0]

    return body


def is_recomputed(effect: Effect) -> Rule:
    module = made(product(effect), ARRAY)
    (entry,) = [op.body.block for op in module.ops if isinstance(op, func.FuncOp)]
    (op,) = all_of(effect, module)
    if Recovery(entry, FinalArrays(entry), {}).plan(op.results[0]) is None:
        return Rule.FORBIDDEN
    gradient = expanded_gradient(effect)
    run = Interpreter(gradient)
    (vjp,) = [op for op in gradient.ops if isinstance(op, func.FuncOp)]
    run.call(vjp, [np.linspace(0.5, 1.5, TRIPS), np.float64(1.0)])
    assert not any(isinstance(op, TapeOp) and types.shape(op.result.type) == (2 * TRIPS,) for op in vjp.walk())
    return Rule.ALLOWED if run.executed[op.name] == 2 * TRIPS else Rule.WITHOUT_EFFECT


def expanded_gradient(effect: Effect) -> ModuleOp:
    module = ModuleOp([])
    ask_vjp(module, "vjp", function(module, "f", [ARRAY], product(effect)), [0])
    return expand(module)


def backwards(effect: Effect) -> Rule:
    gradient = expanded_gradient(effect)
    f, vjp = callable_of(made(product(effect), ARRAY), "f"), callable_of(gradient, "vjp")
    check_vjp(f, vjp, (np.linspace(0.5, 1.5, TRIPS),))
    return times_done(effect, gradient, "vjp")


def forwards(effect: Effect) -> Rule:
    module = ModuleOp([])
    ask_jvp(module, "jvp", function(module, "f", [ARRAY], product(effect)), [0])
    expand(module)
    f, jvp = callable_of(made(product(effect), ARRAY), "f"), callable_of(module, "jvp")
    check_jvp(f, jvp, (np.linspace(0.5, 1.5, TRIPS),))
    return times_done(effect, module, "jvp")


def times_done(effect: Effect, module: ModuleOp, name: str) -> Rule:
    """ONCE, if visible effects happen once per trip. Invisible effects may happen as often as is useful."""
    if effect in (Effect.NONE, Effect.OWN_MEMORY):
        return Rule.ALLOWED
    (called,) = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name]
    run = Interpreter(module)
    last = np.float64(1.0) if name == "vjp" else np.ones(TRIPS)
    run.call(called, [np.linspace(0.5, 1.5, TRIPS), last])
    return Rule.ONCE if run.executed[SAMPLES[effect][0].name] == TRIPS else Rule.FORBIDDEN


def is_checkpointed(effect: Effect) -> Rule:
    def program(module: ModuleOp) -> func.FuncOp:
        made = function(module, "f", [ARRAY], product(effect))
        (loop,) = [op for op in made.walk() if isinstance(op, scf.ForOp)]
        loop.attributes[CHECKPOINT] = StringAttr("sqrt")
        return made

    module = ModuleOp([])
    ask_vjp(module, "vjp", program(module), [0])
    try:
        expand(module)
    except DifferentiationError:
        return Rule.FORBIDDEN
    f = callable_of(made(product(effect), ARRAY), "f")
    check_vjp(f, callable_of(module, "vjp"), (np.linspace(0.5, 1.5, TRIPS),))
    is_once = effect is Effect.ORDERED and times_done(effect, module, "vjp") is Rule.ONCE
    return Rule.RECORDED if is_once else Rule.ALLOWED


DONE: dict[Verb, Callable[[Effect], Rule]] = {
    Verb.REMOVE: is_removed,
    Verb.RECOMPUTE: is_recomputed,
    Verb.HOIST: is_hoisted,
    Verb.JVP: forwards,
    Verb.VJP: backwards,
    Verb.CHECKPOINT: is_checkpointed,
    Verb.CACHE: is_cached,
}
NOT_YET = {Verb.VMAP}
"""Verbs that do not exist: for these, only the table is read."""


@pytest.mark.parametrize("verb", DONE, ids=lambda verb: verb.name)
@pytest.mark.parametrize("effect", Effect, ids=lambda effect: effect.name)
def test_a_verb_does_what_its_cell_says(effect: Effect, verb: Verb) -> None:
    assert DONE[verb](effect) is TABLE[effect][verb]


@pytest.mark.parametrize("effect", Effect, ids=lambda effect: effect.name)
def test_ops_have_the_effects_that_their_classes_declare(effect: Effect) -> None:
    """The verbs' questions about an op give the row of its effect."""
    (op,) = all_of(effect, made(SAMPLES[effect][1], types.F64))
    assert effect_of(op) is effect
    for verb in Verb:
        assert rule(op, verb) is TABLE[effect][verb]
        assert may(op, verb) == (TABLE[effect][verb] is Rule.ALLOWED)


def test_every_verb_is_tried_or_does_not_exist() -> None:
    assert set(DONE).isdisjoint(NOT_YET) and {*DONE, *NOT_YET} == set(Verb)
    for effect in Effect:  # a batch has an effect once for each of its members
        kept = effect in (Effect.MAY_FAIL, Effect.ORDERED)
        assert TABLE[effect][Verb.VMAP] is (Rule.EACH_IN_ORDER if kept else Rule.ALLOWED)


def test_every_op_that_may_fail_is_recomputed_without_its_check_or_gives_nothing() -> None:
    for cls in ops.op_classes():
        if issubclass(cls, EffectOp):
            results = cls.get_irdl_definition().results
            assert not results or cls.recomputed is not NdOp.recomputed, cls.name


def test_architecture_has_the_same_table() -> None:
    lines = (ROOT / "ARCHITECTURE.md").read_text().splitlines()
    (head,) = [number for number, line in enumerate(lines) if line.startswith("| effect |")]
    verbs = [cell.strip() for cell in lines[head].split("|")[2:-1]]
    assert verbs == [verb.name.lower() for verb in Verb]
    said = {
        "yes": Rule.ALLOWED,
        "no": Rule.FORBIDDEN,
        "without the check": Rule.WITHOUT_EFFECT,
        "recorded": Rule.RECORDED,
        "once": Rule.ONCE,
        "each, in order": Rule.EACH_IN_ORDER,
    }
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[head + 2 : head + 2 + len(Effect)]]
    for effect, (name, *cells) in zip(Effect, rows, strict=True):
        assert name.startswith(effect.name.lower().replace("_", " ")), name
        assert [said[cell] for cell in cells] == list(TABLE[effect].values()), name
