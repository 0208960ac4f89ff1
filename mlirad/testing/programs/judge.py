"""Runs one program compiled and compares it with NumPy: results, side effects, exceptions, derivatives.

Reads: a program. Writes: nothing. Leaves: verdicts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.errors import CompileError
from mlirad.requests.kinds_of_derivatives import Grad, Jvp, Vjp
from mlirad.testing.interpreted import Interpreted
from mlirad.testing.programs.oracle import Namespace, call, fresh, is_same, namespace_of, oracle_of, slope
from mlirad.testing.programs.program import REPLACEMENT, Program, laid_out
from mlirad.testing.programs.statements.surrounding_statements import captured, change_captured
from mlirad.testing.programs.two_targets import SINGLES, difference

CALLS = 3
DERIVATIVES = ("gradient", "duality", "second order")


@dataclass(frozen=True)
class Verdict:
    """kind: same, refused, skipped (a kink), or wrong; about: what was compared; why: a reason to count or inspect."""

    kind: str
    about: str
    why: str = ""


class Natively:
    """How programs are run: compiled by `mlirad.jit` and its transforms."""

    def value(self, function: Any) -> Callable[..., Any]:
        return mlirad.jit(function)

    def gradient(self, function: Any, argnums: tuple[int, ...]) -> Callable[..., Any]:
        return self.value(mlirad.value_and_grad(function, argnums=argnums))

    def vjp(self, function: Any, primals: Sequence[Any]) -> Any:
        return mlirad.vjp(self.value(function), *primals)

    def jvp(self, function: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return mlirad.jvp(function, primals, tangents)

    def curvature(self, function: Any, argnums: tuple[int, ...], primals: Sequence[Any], us: Sequence[Any]) -> Any:
        """The value and the gradients, and their tangents."""
        return mlirad.jvp(self.gradient(function, argnums), primals, us)


@dataclass(frozen=True)
class OnTarget(Natively):
    """How programs are run: by another target, which must agree with the usual one."""

    target: str

    def value(self, function: Any) -> Callable[..., Any]:
        return mlirad.jit(function, target=self.target)


@dataclass(frozen=True)
class Stepwise(Natively):
    """How programs are run: by the interpreter, at one of the first stages."""

    stage: str

    def value(self, function: Any) -> Callable[..., Any]:
        return Interpreted(function, self.stage)

    def gradient(self, function: Any, argnums: tuple[int, ...]) -> Callable[..., Any]:
        return self.value(Grad(function, argnums, False, True))

    def vjp(self, function: Any, primals: Sequence[Any]) -> Any:
        return self.value(Vjp(function))(*primals)

    def jvp(self, function: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return self.value(Jvp(function))(tuple(primals), tuple(tangents))

    def curvature(self, function: Any, argnums: tuple[int, ...], primals: Sequence[Any], us: Sequence[Any]) -> Any:
        return self.jvp(Grad(function, argnums, False, True), primals, us)


def reason(error: BaseException) -> str:
    """An error's message without the parts that differ between programs."""
    text = str(getattr(error, "message", error)).split("\n")[0]
    return f"{type(error).__name__}: " + re.sub(r"'[^']*'|\([\d, ]*\)|-?\d+(\.\d+)?", "_", text)[:110]


def _refusal(error: CompileError, about: str) -> Verdict:
    """Whether an error is a refusal: it names the place in the program; without a place, the compiler has failed."""
    return Verdict("wrong" if error.location is None else "refused", about, reason(error))


def judge(program: Program, how: Natively, directory: Path, derivatives: bool = True) -> list[Verdict]:
    """All verdicts on a program; every fourth program has second derivatives."""
    ours, oracle = namespace_of(program, directory), oracle_of(program)
    verdicts = _values(program, how, ours, oracle)
    if derivatives and program.floats and all(each.kind == "same" for each in verdicts):
        verdicts += _gradients(program, how, ours, oracle)
        verdicts += _duality(program, how, ours)
        if program.seed % 4 == 0 and all(each.kind in ("same", "skipped") for each in verdicts):
            verdicts += _second_order(program, how, ours)
    if isinstance(how, OnTarget):
        verdicts += _beside_the_usual_target(program, how, namespace_of(program, directory), derivatives)
    return verdicts


def _beside_the_usual_target(program: Program, how: OnTarget, ours: Namespace, derivatives: bool) -> list[Verdict]:
    """Both targets run the same module."""
    usual = Natively()
    pairs = {"value on two targets": (usual.value(ours["f"]), how.value(ours["f"]))}
    if derivatives and program.floats:
        argnums = tuple(k for k, name in enumerate(program.parameters) if name in program.floats)
        loss = ours["loss"]
        pairs["gradient on two targets"] = (usual.gradient(loss, argnums), how.gradient(loss, argnums))
    found = {about: difference(program, *pair, CALLS - 1) for about, pair in pairs.items()}
    return [Verdict("same" if why is None else "wrong", about, why or "") for about, why in found.items()]


def _values(program: Program, how: Natively, ours: Namespace, oracle: Namespace) -> list[Verdict]:
    verdicts: list[Verdict] = []
    function = how.value(ours["f"])
    for number in range(CALLS):
        if number:
            for namespace in (ours, oracle):
                _change(program, namespace, number)
        expected, given = program.arguments(number), program.arguments(number)
        want, got = call(oracle["f"], expected), call(function, given)
        verdict = _compared(want, got, expected, given, native=not isinstance(how, Stepwise))
        if verdict.kind == "same" and not is_same(captured(oracle), captured(ours)):
            verdict = Verdict("wrong", "captured arrays", f"{captured(ours)}, not {captured(oracle)}")
        if verdict.kind == "wrong" and _is_chaotic(oracle["f"], program.arguments(number), want, expected):
            verdict = Verdict("skipped", "value", "the last bits decide")
        verdicts.append(verdict)
    return verdicts


def _change(program: Program, namespace: Namespace, number: int) -> None:
    """Changes the surroundings of a program before call `number`, which is not the first."""
    if number == 1 and "replaced code" in program.traits:
        helper = next(value for name, value in namespace.items() if re.fullmatch(r"[hr]0", name))
        helper.__code__ = namespace[REPLACEMENT].__code__
    if "changed globals" in program.traits:
        change_captured(namespace, number)


def _is_chaotic(function: Callable[..., Any], args: list[Any], want: Any, after: list[Any]) -> bool:
    """Whether rounding in another order changes results: then slightly moved arguments do so in plain NumPy too."""
    found: list[bool] = []
    for factor in (1 + 2e-13, 1 - 2e-13):
        moved = [x * factor if np.asarray(x).dtype.kind in "fc" else x for x in fresh(args)]
        found.append(is_same(want, call(function, moved)) and is_same(tuple(after), tuple(moved)))
    return not any(found)


def _shared(result: Any, args: Sequence[Any]) -> list[bool]:
    """Which of the caller's arrays share memory after a call."""
    arrays = [x for x in (*(result if isinstance(result, tuple) else (result,)), *args) if isinstance(x, np.ndarray)]
    return [np.shares_memory(x, y) for x, y in itertools.combinations(arrays, 2)]


def _compared(want: Any, got: Any, expected: list[Any], given: list[Any], native: bool) -> Verdict:
    if isinstance(want, Exception) and isinstance(got, Exception):
        if not isinstance(got, type(want)):
            if isinstance(got, CompileError):
                return _refusal(got, "value")
            return Verdict("wrong", "value", f"{got!r}, not {want!r}")
        if native and not isinstance(got, CompileError) and not is_same(tuple(expected), tuple(given)):
            return Verdict("skipped", "effects", "what was written before an exception")  # docs/deviations.md
        return Verdict("same", "exception")
    if isinstance(got, CompileError):
        return _refusal(got, "value")
    if isinstance(got, OverflowError) and "fit in 64 bits" in str(got) and not isinstance(want, Exception):
        return Verdict("skipped", "value", "a Python int of more than 64 bits")  # docs/deviations.md
    if isinstance(want, Exception) or isinstance(got, Exception) or not is_same(want, got):
        return Verdict("wrong", "value", f"{got!r}, not {want!r}")
    if not is_same(tuple(expected), tuple(given)):
        return Verdict("wrong", "effects", f"{given}, not {expected}")
    if _shared(want, expected) != _shared(got, given):
        return Verdict("wrong", "shared memory", f"{_shared(got, given)}, not {_shared(want, expected)}")
    return Verdict("same", "value")


def _gradients(program: Program, how: Natively, ours: Namespace, oracle: Namespace) -> list[Verdict]:
    argnums = tuple(k for k, name in enumerate(program.parameters) if name in program.floats)
    function = how.gradient(ours["loss"], argnums)
    verdicts: list[Verdict] = []
    for number in range(CALLS - 1):
        args = program.arguments(number, generic=True)
        expected, given = fresh(args), fresh(args)
        want, got = call(oracle["loss"], expected), call(function, given)
        if isinstance(got, CompileError):
            return [*verdicts, _refusal(got, "gradient")]
        if isinstance(want, Exception) or isinstance(got, Exception):
            kind = "same" if type(want) is type(got) else "wrong"
            verdicts.append(Verdict(kind, "exception of a gradient", f"{got!r}, not {want!r}"))
            continue
        value, gradients = got
        single = any(getattr(arg, "dtype", None) in SINGLES for arg in args)
        rtol = 1e-4 if single else 1e-9
        if not is_same(want, value, rtol) or not is_same(tuple(expected), tuple(given), rtol):
            what = f"{value!r}, not {want!r}; {given}, not {expected}, from {args}"
            verdicts.append(Verdict("wrong", "value of a gradient", what))
            continue
        verdicts.append(_slope_verdict(program, oracle, args, argnums, gradients, number))
    return verdicts


def _slope_verdict(
    program: Program, oracle: Namespace, args: list[Any], argnums: tuple[int, ...], gradients: Any, number: int
) -> Verdict:
    rng = np.random.default_rng([program.seed, number])
    directions = {k: _direction(rng, _wide(args[k])) for k in argnums}

    def along(step: float) -> float:
        # Doubles, even if the program takes float32: its rounding would hide the differences.
        moved = [_moved(a, step * directions[k]) if k in directions else a for k, a in enumerate(args)]
        result = call(oracle["loss"], fresh(moved))
        return np.nan if isinstance(result, Exception) else float(result)

    expected = slope(along)
    if expected is None:
        return Verdict("skipped", "gradient", "a kink, or large numbers")
    terms = [_inner([g], [directions[k]]) for k, g in zip(argnums, gradients, strict=True)]
    # Values that the program itself rounds to float32 are also rounded in the differences.
    is_single = any(each.name in program.source for each in SINGLES)
    is_single = is_single or any(getattr(args[k], "dtype", None) in SINGLES for k in argnums)
    tolerance = 2e-3 if is_single else 2e-5
    scale = 1 + abs(expected) + sum(map(abs, terms))
    shaped = all(np.shape(g) == np.shape(args[k]) for k, g in zip(argnums, gradients, strict=True))
    if shaped and not is_single and not abs(sum(terms) - expected) <= tolerance * scale:
        closer = slope(along, 2.0**-19)  # among thousands of elements, one kink is too small to be seen
        if closer is None:
            return Verdict("skipped", "gradient", "a kink, or large numbers")
        expected = closer
    if not shaped or not abs(sum(terms) - expected) <= tolerance * scale:
        return Verdict("wrong", "gradient", f"{sum(terms)}, not {expected}: {gradients} at {args}")
    return Verdict("same", "gradient")


def _moved(value: Any, way: Any) -> Any:
    """The sum in double precision, of the same kind: Python's numbers raise where NumPy's give inf or nan."""
    moved = _wide(value) + way
    return laid_out(moved, value) if isinstance(value, np.ndarray) else type(value)(moved)


def _primals(program: Program, ours: Namespace, number: int) -> list[Any]:
    """The float arguments of a call; the others become globals, which `outs` and `energy` read."""
    args = dict(zip(program.parameters, program.arguments(number, generic=True), strict=True))
    ours.update({f"fixed_{name}": value for name, value in args.items() if name not in program.floats})
    return [args[name] for name in program.floats]


def _duality(program: Program, how: Natively, ours: Namespace) -> list[Verdict]:
    """<u, jvp v> == <vjp u, v>, and a pullback called twice gives the same."""
    primals = _primals(program, ours, 0)
    if isinstance(call(ours["outs"], fresh(primals)), Exception):
        return []
    try:
        # Captured objects that a function writes are restored before the next call.
        out, pullback = how.vjp(ours["outs"], _primals(program, ours, 0))
        rng = np.random.default_rng(program.seed)
        us = tuple(_direction(rng, x) for x in out)
        vs = tuple(_direction(rng, x) for x in primals)
        once, twice = pullback(us), pullback(us)
        same, tangents = how.jvp(ours["outs"], _primals(program, ours, 0), vs)
    except CompileError as error:
        return [_refusal(error, "duality")]
    except Exception as error:  # noqa: BLE001 - whatever the compiler raises is what is looked for
        return [Verdict("wrong", "duality", f"{type(error).__name__}: {error}")]
    if not is_same(tuple(once), tuple(twice), 0.0) or not is_same(tuple(out), tuple(same), 1e-12):
        return [Verdict("wrong", "second pullback or value of jvp", f"{once}, {twice}; {out}, {same}")]
    left, right = _inner(us, tangents), _inner(once, vs)
    scale = 1 + sum(float(np.sum(np.abs(x))) for x in (*once, *tangents))
    if not np.isfinite(scale):
        return [Verdict("skipped", "duality", "numbers that are not finite")]
    single = any(getattr(x, "dtype", None) in SINGLES for x in (*primals, *out))
    if abs(left - right) > (1e-3 if single else 1e-8) * scale:
        return [Verdict("wrong", "duality", f"<u, jvp v> = {left}, <vjp u, v> = {right}")]
    return [Verdict("same", "duality")]


def _second_order(program: Program, how: Natively, ours: Namespace) -> list[Verdict]:
    """H u forward over reverse, reverse over reverse, and by differences of the gradient."""
    primals = _primals(program, ours, 1)
    if isinstance(call(ours["energy"], fresh(primals)), Exception):
        return []
    rng = np.random.default_rng([program.seed, 2])
    us, vs = (tuple(_direction(rng, x) for x in primals) for _ in range(2))
    ours.update({f"along_{name}": u for name, u in zip(program.floats, us, strict=True)})
    argnums = tuple(range(len(primals)))
    try:
        gradient = how.gradient(ours["energy"], argnums)
        (_, first), (_, forward) = how.curvature(ours["energy"], argnums, _primals(program, ours, 1), us)
        _, reverse = how.gradient(ours["slope"], argnums)(*_primals(program, ours, 1))
        gradients = gradient(*_primals(program, ours, 1))[1]
    except CompileError as error:
        return [_refusal(error, "second order")]
    except Exception as error:  # noqa: BLE001 - whatever the compiler raises is what is looked for
        return [Verdict("wrong", "second order", f"{type(error).__name__}: {error}")]
    single = any(getattr(x, "dtype", None) in SINGLES for x in primals)
    if not is_same(tuple(first), tuple(gradients), 1e-4 if single else 1e-9):
        return [Verdict("wrong", "second order", f"jvp's gradient {first}, not {gradients}")]
    left, right = _inner(forward, vs), _inner(reverse, vs)
    scale = 1 + sum(float(np.sum(np.abs(x))) for x in (*forward, *reverse))
    if not np.isfinite(scale):
        return [Verdict("skipped", "second order", "numbers that are not finite")]
    if abs(left - right) > (1e-3 if single else 1e-8) * scale:
        return [Verdict("wrong", "second order", f"forward over reverse {forward}, reverse over reverse {reverse}")]
    if single:
        return [Verdict("same", "second order")]

    def along(step: float) -> float:
        moved = [laid_out(x + step * u, x) for x, u in zip(_primals(program, ours, 1), us, strict=True)]
        return _inner(gradient(*moved)[1], vs)

    expected = slope(along)
    if expected is not None and abs(left - expected) > 2e-5 * (scale + abs(expected)):
        return [Verdict("wrong", "second order", f"{left}, not {expected}")]
    return [Verdict("same", "second order")]


def _direction(rng: np.random.Generator, like: Any) -> Any:
    dtype = np.asarray(like).dtype
    way = rng.uniform(-1, 1, np.shape(like))
    made = np.asarray(way + 1j * rng.uniform(-1, 1, np.shape(like)) if dtype.kind == "c" else way, dtype)
    return made if isinstance(like, np.ndarray) else type(like)(made)


def _wide(x: Any) -> np.ndarray:
    """In double precision."""
    return np.asarray(x, np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """Combines the derivatives by real and imaginary parts: gradients are du/dx - i du/dy."""
    return float(sum(np.sum(_wide(x) * _wide(y)).real for x, y in zip(xs, ys, strict=True)))
