"""A target's options: declared by it, given to `jit`, part of what a kernel is and of what its code is kept under."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, scf
from xdsl.parser import Parser

import mlirad
from mlirad.dialect.nd import Nd
from mlirad.errors import TargetError
from mlirad.pipeline import text_of
from mlirad.requests.python_functions import copied
from mlirad.targets.cpu.target import CpuTarget
from mlirad.targets.finding import BUILT_IN
from mlirad.targets.target import Artifact, RuntimeInfo, Stage, Target
from mlirad.testing.interpreted import InterpretedArtifact

X = np.linspace(-1.0, 1.0, 64)


def energy(x):
    return (x * x + 1.0).sum()


def doubled_gradient(x):
    return mlirad.grad(energy, vector_bytes=16)(x) * 2.0


def of_with_value(x):
    return mlirad.grad(energy, with_value=True)(x)


@mlirad.jit(vector_bytes=16)
def narrow(x):
    return (x * x + 1.0).sum()


@dataclass(frozen=True)
class Toy(Target):
    """Runs a module of stage `optimized` unchanged. Its options affect the code, not the text."""

    name: ClassVar[str] = "toy"
    api_version: ClassVar[tuple[int, int]] = (1, 0)
    loads: ClassVar[str] = "printed"
    loaded: ClassVar[list[str]] = []

    grain: Any = 1
    toy_mode: str = "plain"

    def __post_init__(self) -> None:
        if self.toy_mode not in ("plain", "fancy"):
            raise ValueError(f"toy_mode is 'plain' or 'fancy', not {self.toy_mode!r}")

    def check(self, module: Any) -> list[TargetError]:
        return []

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("printed", text_of), Stage("shown", lambda text: f"// {self.grain} {self.toy_mode}\n{text}"))

    def compile(self, value: str) -> bytes:
        return f"// {self.grain} {self.toy_mode}\n{value}".encode()

    def load(self, code: bytes, code_cache: Any = None) -> Artifact:
        context = Context()
        for dialect in (arith.Arith, builtin.Builtin, func.Func, math.Math, scf.Scf, Nd):
            context.load_dialect(dialect)
        self.loaded.append(code.decode().splitlines()[0])
        return InterpretedArtifact(Parser(context, code.decode()).parse_module())

    def runtime_info(self) -> RuntimeInfo:
        return RuntimeInfo("interpreter", "none")

    def fingerprint(self) -> str:
        return "toy"


@dataclass(frozen=True)
class Greedy(Toy):
    name: ClassVar[str] = "greedy"
    cache: bool = True


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded, as it says itself."""
    monkeypatch.setitem(BUILT_IN, "toy", f"{__name__}:Toy")
    monkeypatch.setitem(BUILT_IN, "greedy", f"{__name__}:Greedy")
    Toy.loaded.clear()
    return Toy.loaded


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MLIRAD_CACHE", raising=False)
    return tmp_path / "cache"


def widths(kernel: Any) -> set[int]:
    """The width of the float64 vectors in the code of a kernel, in bytes."""
    text = kernel.lower(X).as_text("llvmir")
    return {8 * lanes for lanes in (2, 4, 8, 16) if f"<{lanes} x double>" in text}


@pytest.mark.parametrize("width", [16, 32, 64])
def test_an_option_reaches_the_code(width: int) -> None:
    given: dict[str, Any] = {"vector_bytes": width}
    made: dict[str, Callable[[], Any]] = {
        "jit": lambda: mlirad.jit(energy, vector_bytes=width),
        "decorator": lambda: mlirad.jit(vector_bytes=width)(energy),
        "grad": lambda: mlirad.grad(energy, vector_bytes=width),
        "value_and_grad": lambda: mlirad.value_and_grad(energy, vector_bytes=width),
        "jit of grad": lambda: mlirad.jit(mlirad.grad(energy), vector_bytes=width),
        "grad of jit": lambda: mlirad.grad(mlirad.jit(energy, vector_bytes=width)),
        "grad over jit": lambda: mlirad.grad(
            mlirad.jit(energy, vector_bytes=48 - width if width < 48 else 16), **given
        ),
    }
    for name, make in made.items():
        found = widths(make())
        assert max(found) == width, (name, found)
    np.testing.assert_allclose(made["jit"]()(X), energy(X), rtol=1e-14)
    np.testing.assert_allclose(made["grad"]()(X), 2.0 * X, rtol=1e-14)
    np.testing.assert_allclose(mlirad.vjp(made["jit"](), X)[1](1.0)[0], 2.0 * X, rtol=1e-14)


def test_an_unknown_option_names_those_there_are(toy) -> None:
    own = "static_argnums, static_argnames, target, boundscheck, cache, parallel, fastmath, checkpoint, donate_argnums"
    with pytest.raises(TypeError) as caught:
        mlirad.jit(energy, vectors=4)
    assert str(caught.value) == (
        f"jit() has no option 'vectors'; its options are {own}, "
        "and the options of the target 'cpu': vector_bytes, unoptimised"
    )
    with pytest.raises(
        TypeError, match=r"no option 'vector_bytes'; .*the options of the target 'toy': grain, toy_mode"
    ):
        mlirad.jit(energy, target="toy", vector_bytes=16)
    with pytest.raises(TypeError, match=r"jit\(\) has no option 'of_target'"):
        mlirad.jit(energy, of_target=())
    with pytest.raises(TypeError, match=r"grad\(\) has no option 'argnum'; its options are argnums, has_aux, .*bytes"):
        mlirad.grad(energy, argnum=1)
    with pytest.raises(TargetError, match="there is no target 'abacus'"):
        mlirad.jit(energy, target="abacus", beads=3)
    with pytest.raises(TargetError, match="target 'toy' has no option 'parallel'"):
        mlirad.jit(energy, target="toy", parallel=True)
    with pytest.raises(TargetError, match="target 'greedy' declares the option 'cache'"):
        mlirad.jit(energy, target="greedy", grain=2)(X)


@pytest.mark.parametrize(
    ("value", "error"), [("16", TypeError), (16.0, TypeError), (True, TypeError), (0, ValueError), (48, ValueError)]
)
def test_a_wrong_value_is_refused_where_it_is_given(value: Any, error: type[Exception]) -> None:
    for make in (mlirad.jit, mlirad.grad, mlirad.value_and_grad):
        with pytest.raises(error, match="vector_bytes is 16, 32 or 64, or None"):
            make(energy, vector_bytes=value)


def test_values_are_checked_by_the_target_and_hashable(toy) -> None:
    with pytest.raises(ValueError, match="toy_mode is 'plain' or 'fancy', not 'odd'"):
        mlirad.jit(energy, target="toy", toy_mode="odd")
    with pytest.raises(TypeError, match=r"the option grain must be hashable, unlike \[1\]"):
        mlirad.jit(energy, target="toy", grain=[1])


def test_inside_a_compiled_function_there_are_no_options() -> None:
    for function, name in ((doubled_gradient, "vector_bytes"), (of_with_value, "with_value")):
        with pytest.raises(TypeError, match=f"no option '{name}'.*\n.*\n.*\n.*argnums") as caught:
            mlirad.jit(function)(X)
        assert isinstance(caught.value, mlirad.CompileError)
        assert caught.value.lineno == function.__code__.co_firstlineno + 1


def test_another_target_takes_its_own_options_only(toy) -> None:
    kernel = mlirad.jit(energy, target="toy", grain=4)
    np.testing.assert_allclose(kernel(X), energy(X))
    np.testing.assert_allclose(mlirad.grad(kernel, toy_mode="fancy")(X), 2.0 * X)
    assert mlirad.grad(kernel).lower(X).as_text("shown").startswith("// 4 plain\n")
    assert toy == ["// 4 plain", "// 4 fancy"]
    # An option of one target means nothing to another.
    assert widths(mlirad.grad(kernel, target="cpu", vector_bytes=16)) == {16}
    assert not mlirad.grad(kernel, target="cpu").options.of_target


def test_options_tell_kernels_apart(toy) -> None:
    def made(**options: Any) -> Any:
        return mlirad.grad(energy, target="toy", **options)

    assert made(grain=2, toy_mode="fancy") is made(toy_mode="fancy", grain=2)
    different = [made(), made(grain=1), made(grain=True), made(grain=1.0), made(grain=0.0), made(grain=-0.0)]
    assert len({id(each) for each in different}) == len({each.options for each in different}) == len(different)
    assert made(grain=(1, "a")) is made(grain=(1, "a"))
    assert mlirad.grad(energy, vector_bytes=16) is mlirad.grad(mlirad.jit(energy, vector_bytes=16))


def test_kernels_with_options_pickle(toy) -> None:
    assert pickle.loads(pickle.dumps(narrow)) is narrow
    for kernel in (
        mlirad.grad(narrow),
        mlirad.grad(energy, vector_bytes=16),
        mlirad.jit(energy, target="toy", grain=("a", 2)),
    ):
        again = pickle.loads(pickle.dumps(kernel))
        assert again.options == kernel.options and again.options.of_target
        np.testing.assert_allclose(again(X), kernel(X))


def test_code_on_disk_is_kept_by_options(root, toy) -> None:
    """Each option has its own code, which is found again, also where text and fingerprint are the same."""
    for _ in range(2):
        for options in ({}, {"grain": 2}, {"grain": True}, {"grain": 2, "toy_mode": "fancy"}):
            np.testing.assert_allclose(mlirad.jit(copied(energy), target="toy", **options)(X), energy(X))
    assert toy == 2 * ["// 1 plain", "// 2 plain", "// True plain", "// 2 fancy"]
    assert len(list(root.glob("*.entry"))) == 8  # the specialisation and its code, of each


def test_code_of_the_cpu_on_disk_is_kept_by_options(root, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int | None] = []
    plain = CpuTarget.compile

    def compile_noted(self: CpuTarget, value: str) -> bytes:
        compiled.append(self.vector_bytes)
        return plain(self, value)

    monkeypatch.setattr(CpuTarget, "compile", compile_noted)
    for width in (16, 32, 16, 32, None):
        mlirad.jit(copied(energy), vector_bytes=width)(X)
    assert compiled == [16, 32, None]


def test_a_value_that_means_nothing_elsewhere_is_not_kept(root, toy) -> None:
    one, other = object(), object()
    for grain in (one, other):
        np.testing.assert_allclose(mlirad.jit(energy, target="toy", grain=grain)(X), energy(X))
    assert toy == [f"// {one} plain", f"// {other} plain"]
    assert not list(root.glob("*.entry"))


def test_what_is_imported_when(tmp_path: Path) -> None:
    """A target when it is given an option; the compiler and LLVM when something is compiled."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport mlirad\n"
        "def seen():\n"
        "    names = ('mlirad.targets.target', 'mlirad.targets.cpu', 'llvmlite', 'xdsl', 'mlirad.frontend.build')\n"
        "    print(*[name for name in names if name in sys.modules])\n"
        "mlirad.jit(lambda x: x)\nmlirad.jit(lambda x: x, target='absent', cache=False)\nseen()\n"
        "mlirad.grad(mlirad.jit(lambda x: x, vector_bytes=16, parallel=True))\nseen()\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["", "mlirad.targets.target mlirad.targets.cpu"]
