"""The conformance kit: a class of tests that pytest collects in the package of a target.

    from mlirad.testing import target_suite

    TestAcme = target_suite("acme", dtype="float32", refuses=["gathered"])

Reads: the name of an installed target. Writes: nothing. Leaves: the class. Needs pytest.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mlirad
from mlirad.errors import TargetError
from mlirad.pipeline import all_stages, differentiate, optimize
from mlirad.targets.finding import find_target, option_names
from mlirad.targets.reading import parsed
from mlirad.testing.conformance.target_programs import PROGRAMS, TargetProgram

_STEP = 1e-4
"""The step of the central differences, which use the plain function in float64."""
_THREADS = 4
_OF_DTYPE = {8: (1e-12, 1e-6), 4: (1e-5, 1e-4), 2: (2e-3, 2e-2)}
"""Tolerances by the bytes of a float: of values to NumPy's, and of derivatives to differences."""

_every_program = pytest.mark.parametrize("name", list(PROGRAMS))
_every_gradient = pytest.mark.parametrize("name", [name for name, each in PROGRAMS.items() if each.has_gradient])


def target_suite(
    name: str,
    *,
    dtype: Any = np.float64,
    refuses: Collection[str] = (),
    refuses_gradients: Collection[str] = (),
    **options: Any,
) -> type[TargetSuite]:
    """Tests of the target of that name, with these options: a class for pytest.

    dtype: of the programs' float arrays. Values must equal NumPy's to 1e-12 of the largest element (float64), 1e-5
    (float32) or 2e-3 (float16); derivatives are compared with differences of NumPy's values. refuses: the names of
    programs (in `mlirad.testing.conformance.target_programs`) that the target refuses: it must raise TargetError at a
    line of the program, and compile all others. refuses_gradients: the programs with gradients that it refuses.

    Raises TargetError for an unknown target or option, and ValueError for an unknown program.
    """
    find_target(name, **options)
    if unknown := sorted({*refuses, *refuses_gradients} - set(PROGRAMS)):
        raise ValueError(f"there are no programs {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    facts = {"target": name, "options": options, "dtype": np.dtype(dtype), "refuses": frozenset(refuses)}
    facts["refuses_gradients"] = frozenset(refuses_gradients)
    return type(
        f"Test{name.capitalize()}", (TargetSuite,), {**facts, "__doc__": f"The conformance tests of the target {name}."}
    )


class TargetSuite:
    """The tests that every target must pass."""

    target: ClassVar[str]
    options: ClassVar[dict[str, Any]]
    dtype: ClassVar[np.dtype]
    refuses: ClassVar[frozenset[str]]
    refuses_gradients: ClassVar[frozenset[str]]

    @pytest.fixture(autouse=True)
    def _own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "code"))
        monkeypatch.delenv("MLIRAD_CACHE", raising=False)

    # Numbers

    @_every_program
    def test_values_are_numpys(self, name: str) -> None:
        """Results and writes equal NumPy's for all layouts of arguments; results are views where NumPy's are."""
        program, kernel = self._taken(name)
        if program.raises is not None:
            return
        for laid_out in (np.copy, _strided, _reversed, _read_only):
            given = program.arguments(self.dtype)
            if laid_out is _read_only and name == "written":
                continue
            args, plain = _mapped(laid_out, given), _mapped(laid_out, given)
            expected, found = program.function(*plain), kernel(*args)
            _require_close(found, expected, self._rtol, f"{name}, arguments {laid_out.__name__.strip('_')}")
            _require_close(args, plain, self._rtol, f"the arguments of {name} afterwards")
            assert _views(found, args) == _views(expected, plain), f"{name}: which results are views of arguments"

    @_every_gradient
    def test_gradients_are_differences(self, name: str) -> None:
        program, derived = self._taken(name, mlirad.value_and_grad)
        args = program.arguments(self.dtype)
        value, gradient = derived(*args)
        _require_close(value, program.function(*args), self._rtol, name)
        assert (gradient.dtype, gradient.shape) == (args[0].dtype, args[0].shape)
        _require_close(
            gradient, _difference_gradient(program, args), self._rtol_of_derivatives, f"the gradient of {name}"
        )

    @_every_gradient
    def test_second_derivatives_are_differences(self, name: str) -> None:
        """v H v, forward over reverse, at a point without kinks nearby."""
        program, derived = self._taken(name, mlirad.grad)
        args = program.arguments(self.dtype)
        direction = np.cos(np.arange(args[0].size)).reshape(args[0].shape).astype(args[0].dtype)
        product = mlirad.jvp(lambda x: derived(x, *args[1:]), (args[0],), (direction,))[1]
        found = np.sum(product.astype(np.float64) * direction)
        scale = float(np.sum(np.abs(product.astype(np.float64) * direction))) + 1.0
        expected = _second_difference(program, args, direction)
        assert abs(found - expected) <= 10.0 * self._rtol_of_derivatives * scale, (name, found, expected)

    # Errors

    @pytest.mark.parametrize("name", [name for name, each in PROGRAMS.items() if each.raises])
    def test_errors_are_at_the_line(self, name: str) -> None:
        """It raises the same as NumPy, at the user's line, and the next call is right."""
        program, kernel = self._taken(name)
        assert program.raises is not None
        *args, _ = program.arguments(self.dtype)
        with pytest.raises(program.raises, match=rf"target_programs\.py:{_lines(program)[0] + 2}:"):
            kernel(*program.arguments(self.dtype))
        _require_close(kernel(*args, 1), program.function(*args, 1), self._rtol, name)

    def test_an_unknown_option_is_refused(self) -> None:
        assert "no_such_option" not in option_names(self.target)
        with pytest.raises(TypeError, match="no_such_option"):
            mlirad.jit(abs, target=self.target, no_such_option=1)
        with pytest.raises(TargetError, match="no_such_option"):
            find_target(self.target, no_such_option=1)

    def test_checking_changes_nothing(self) -> None:
        for name in self._names():
            lowered = self._lowered(name)
            module = optimize(differentiate(lowered.module.clone(), False), False)
            before = str(module)
            assert lowered.target.check(module) == []
            assert str(module) == before, name

    # Dumps

    def test_stages_are_text_that_is_read_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The text of every MLIR stage parses with the target's dialects and prints equally; dumps are these stages."""
        for name in self._names():
            lowered, again = self._lowered(name), self._lowered(name)
            for stage in all_stages(lowered.target):
                text = lowered.as_text(stage.name)
                assert text == again.as_text(stage.name), f"{name}: stage {stage.name} is not the same twice"
                if stage.suffix == "mlir":
                    module = parsed(text, lowered.target, f"{name}, stage {stage.name}")
                    module.verify()
                    assert parsed(str(module), lowered.target).is_structurally_equivalent(module)
        name, directory = self._names()[0], tmp_path / "dump"
        monkeypatch.setenv("MLIRAD_DUMP", str(directory))
        program = PROGRAMS[name]
        self._kernel(program, cache=False)(*program.arguments(self.dtype))
        target = find_target(self.target, **self.options)
        wanted = [f"{number:02d}-{each.name}.{each.suffix}" for number, each in enumerate(all_stages(target))]
        assert sorted(path.name for path in directory.rglob("*.*")) == wanted

    def test_what_runs_the_code_is_told(self) -> None:
        runtime = find_target(self.target, **self.options).runtime_info()
        kernel = self._kernel(PROGRAMS[self._names()[0]])
        assert runtime.device
        assert (runtime.kind == "native") or str(runtime) in repr(kernel)

    # Caches and threads

    def test_code_on_disk_is_used_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the stage to be loaded is text, nothing is compiled a second time, and the numbers are the same."""
        name = self._names()[0]
        program = PROGRAMS[name]
        first = self._kernel(program)(*program.arguments(self.dtype))
        target = find_target(self.target, **self.options)
        assert target.fingerprint() == find_target(self.target, **self.options).fingerprint()
        if not self._loads_text(name):
            return
        monkeypatch.setattr(type(target), "compile", _refuse_to_compile)
        _require_equal(self._kernel(program)(*program.arguments(self.dtype)), first, name)

    def test_threads_get_what_one_gets(self) -> None:
        """Threads call one kernel at the same time, before it is compiled and later."""
        for name in self._names()[:3]:
            program = PROGRAMS[name]
            args = program.arguments(self.dtype)
            alone, shared = self._kernel(program)(*args), self._kernel(program)
            start = threading.Barrier(_THREADS)
            with ThreadPoolExecutor(_THREADS) as pool:
                found = [pool.submit(_called_together, start, shared, args) for _ in range(_THREADS)]
            for results in found:
                for each in results.result():
                    _require_equal(each, alone, name)

    # Shared by the tests

    @property
    def _rtol(self) -> float:
        return _OF_DTYPE[self.dtype.itemsize][0]

    @property
    def _rtol_of_derivatives(self) -> float:
        return _OF_DTYPE[self.dtype.itemsize][1]

    def _kernel(self, program: TargetProgram, **options: Any) -> Callable[..., Any]:
        made = mlirad.jit(program.function, target=self.target, **self.options, **options)
        made.forget()
        return made

    def _names(self) -> list[str]:
        """The programs that the target compiles, and that raise nothing."""
        return [name for name, each in PROGRAMS.items() if name not in self.refuses and each.raises is None]

    def _lowered(self, name: str) -> Any:
        program = PROGRAMS[name]
        return mlirad.jit(program.function, target=self.target, **self.options).lower(*program.arguments(self.dtype))

    def _loads_text(self, name: str) -> bool:
        lowered = self._lowered(name)
        value: Any = lowered.module.clone()
        for stage in all_stages(lowered.target):
            value = stage.run(value)
            if stage.name == lowered.target.loads:
                break
        return isinstance(value, str)

    def _taken(self, name: str, derived: Callable[..., Any] | None = None) -> tuple[TargetProgram, Callable[..., Any]]:
        """The program and its kernel, or a transform of that. If the kernel is rightly refused, the test ends here."""
        program = PROGRAMS[name]
        kernel = self._kernel(program)
        if derived is not None:
            kernel = derived(kernel)
        if name not in self.refuses and (derived is None or name not in self.refuses_gradients):
            return program, kernel
        with pytest.raises(TargetError) as caught:
            kernel(*program.arguments(self.dtype))
        assert caught.value.lineno in range(*_lines(program)), f"no line of {name}: {caught.value}"
        pytest.skip(f"the target {self.target} refuses it: {caught.value.message}")


def _called_together(start: threading.Barrier, kernel: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    start.wait()
    return [kernel(*args) for _ in range(5)]


def _refuse_to_compile(_self: Any, _value: Any) -> bytes:
    raise AssertionError("it is compiled again, although its code is on disk")


def _lines(program: TargetProgram) -> tuple[int, int]:
    """The first line of a program, which has its decorator, and the line after its last."""
    lines, first = inspect.getsourcelines(program.function)
    return first, first + len(lines)


def _mapped(change: Callable[[np.ndarray], np.ndarray], args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(change(each) if isinstance(each, np.ndarray) else each for each in args)


def _strided(x: np.ndarray) -> np.ndarray:
    spread = np.zeros(tuple(2 * size for size in x.shape), x.dtype)
    view = spread[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def _reversed(x: np.ndarray) -> np.ndarray:
    return np.flip(np.flip(x).copy())


def _read_only(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made.flags.writeable = False
    return made


def _leaves(value: Any) -> list[np.ndarray]:
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


def _views(results: Any, args: tuple[Any, ...]) -> list[list[bool]]:
    """Which results share memory with which arguments."""
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    return [[np.shares_memory(each, own) for own in arrays] for each in _leaves(results)]


def _require_close(found: Any, expected: Any, rtol: float, what: str) -> None:
    """Check that shapes and dtypes are equal, and elements close, relative to the largest one."""
    assert len(_leaves(found)) == len(_leaves(expected)), what
    for ours, numpys in zip(_leaves(found), _leaves(expected), strict=True):
        assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype), what
        scale = float(np.max(np.abs(numpys), initial=0.0)) if numpys.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(ours, numpys, rtol=0.0, atol=rtol * scale, err_msg=what)


def _require_equal(found: Any, expected: Any, what: str) -> None:
    for ours, first in zip(_leaves(found), _leaves(expected), strict=True):
        np.testing.assert_array_equal(ours, first, err_msg=what)


def _in_float64(program: TargetProgram, args: tuple[Any, ...]) -> Callable[[np.ndarray], float]:
    """The plain function, as a function of its first argument, in float64."""
    others = [
        each.astype(np.float64) if getattr(each, "dtype", np.dtype(int)).kind == "f" else each for each in args[1:]
    ]
    return lambda x: float(program.function(x, *others))


def _difference_gradient(program: TargetProgram, args: tuple[Any, ...]) -> np.ndarray:
    f, x = _in_float64(program, args), args[0].astype(np.float64)
    steps = [_STEP * unit.reshape(x.shape) for unit in np.eye(x.size)]
    slopes = [(f(x + step) - f(x - step)) / (2.0 * _STEP) for step in steps]
    return np.array(slopes).reshape(x.shape).astype(args[0].dtype)


def _second_difference(program: TargetProgram, args: tuple[Any, ...], direction: np.ndarray) -> float:
    f, x = _in_float64(program, args), args[0].astype(np.float64)
    step = 10.0 * _STEP * direction.astype(np.float64)
    return (f(x + step) - 2.0 * f(x) + f(x - step)) / (10.0 * _STEP) ** 2
