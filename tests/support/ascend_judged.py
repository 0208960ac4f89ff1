"""Shows all programs of the Ascend target's corpus to others' judges: Huawei's open compiler, and MLIR's on the CPU.

`python tests/support/ascend_judged.py --page docs/verification/ascend-judges.md` judges all (`make ascend-judges`).

Reads: the compiler, and programs of others. Writes: a page, if asked. Leaves: nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ascend_corpus import PROGRAMS, SUBJECTS, Array, Subject, cross_entropy, gradient_kernel, softmax, weights
from ascend_judges import Bishengir, Judged, Refused, judge

import mlirad
from mlirad.targets.ascend.hivm.hivm import HIVM

SMALL, LARGE = 33, 65537
DTYPES = {"f32": np.float32, "f16": np.float16}
NEVER = {f"hivm.hir.{name}" for name in ("get_block_num", "set_mask_norm", "varange", "vrec", "vrelu", "vrsqrt")}
"""The ops of our dialect that the compiler does not write."""


@dataclass(frozen=True)
class Case:
    """A call that is judged. group: the line of the page that counts it."""

    group: str
    name: str
    kernel: Any
    args: Sequence[Any]


def asked(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def value(function: Callable[..., Any]) -> Any:
    return mlirad.jit(lambda *args: function(*args), target="ascend")


def gradient(function: Callable[..., Any], count: int) -> Any:
    """With respect to the first arguments."""
    return mlirad.grad(function, argnums=tuple(range(count)), target="ascend")


# --- programs that have an instruction each that the functions lack ---------------------------------------------------


def rearranged(x: Array, y: Array) -> Any:
    return (
        np.transpose(y, (1, 0, 2)).copy(),
        (x.T * 2, np.transpose(y, (2, 0, 1)) + 1, x[::2] * 2, x[::-1] + 1, x[1:, 3:] * x[:-1, :-3]),
        (np.concatenate([x, x], axis=1), x[:, 2] * 2, np.outer(x[0], x[1])),
        (np.sum(y, axis=0), np.sum(y, axis=1), np.max(y, axis=(0, 2)), np.prod(y, axis=2), np.min(y)),
    )


def choices(x: Array) -> Any:
    return (x > 0) & (x < 1), np.where((x > 0) | ~(x > -1), x, -x), np.isnan(x), np.fmax(x, 0), (x > 0) != (x > 1)


def rounded(x: Array) -> Any:
    return np.floor(x) + np.ceil(x * 2) + np.trunc(x / 3), np.sqrt(np.abs(x)) * np.log(x * x + 1), np.minimum(x, -x)


def loops(x: Array) -> Any:
    for i in range(3):
        if np.sum(x) > 0:
            x[i] = np.exp(-x[i])
        x = x * x + x[i]
    return x


def products(x: Array, y: Array, z: Array) -> Any:
    contracted = np.einsum("bij,ckj->bick", x, x), np.einsum("aij,jkb->aikb", x, z)
    return x @ y, x @ y[0], np.tensordot(x, z, 1), x[0].T @ x[1], x[0, 3:16, ::2] @ y[0, 1:21], *contracted


def regression(w: Array, b: Array, x: Array, y: Array) -> Any:
    z = x @ w + b
    return np.mean(np.logaddexp(np.zeros_like(z), z) - y * z)


def network(w: Array, b: Array, u: Array, c: Array, x: Array, y: Array) -> Any:
    return cross_entropy(np.maximum(x @ w + b, 0) @ u + c, y)


def product(x: Array, y: Array) -> Array:
    return x @ y


def transposed(x: Array, y: Array) -> Array:
    return x.T @ y.T


# --- what is judged ---------------------------------------------------------------------------------------------------


def sample() -> Iterator[Case]:
    """Every op of hivm that the compiler writes, but NEVER, and each way to write it."""
    half = asked(33, 40, dtype=np.float16), asked(40, 20, dtype=np.float16)
    yield Case("sample", "rearranged", value(rearranged), (asked(6, 9), asked(3, 4, 5)))
    yield Case("sample", "choices", value(choices), (asked(5, 7),))
    yield Case("sample", "rounded", value(rounded), (asked(2100),))
    yield Case("sample", "a layer", gradient(lambda x, w: np.sum(np.tanh(x @ w)), 2), half)
    yield Case("sample", "softmax", value(softmax), (asked(5, 21),))


def functions() -> Iterator[Case]:
    for element, dtype in DTYPES.items():
        for subject in (*SUBJECTS, *PROGRAMS):
            function = subject.call if isinstance(subject, Subject) else subject.function
            args = subject.arguments(SMALL, dtype)
            yield Case(f"values, {element}", subject.name, value(function), args)
            if isinstance(subject, Subject) and not subject.has_gradient:
                continue
            result = function(*args)
            shape = np.shape(result[0] if isinstance(result, tuple) else result)
            asks = gradient_kernel(function, len(args), "ascend")
            yield Case(f"gradients, {element}", subject.name, asks, (*args, weights(*shape, dtype=dtype)))


def large() -> Iterator[Case]:
    """Several tiles and blocks, the last ones shorter."""
    for subject in SUBJECTS:
        yield Case("values of 65,537 elements", subject.name, value(subject.call), subject.arguments(LARGE, np.float32))


def training() -> Iterator[Case]:
    label = np.eye(10, dtype=np.float32)[np.arange(50) % 10]
    weights = asked(64, 32), asked(32), asked(32, 10), asked(10)
    yield Case("training", "network of digits", gradient(network, 4), (*weights, asked(50, 64), label))
    yield Case("training", "regression", gradient(regression, 2), (asked(30), asked(), asked(569, 30), asked(569)))
    yield Case("training", "loops and branches", value(loops), (asked(5, 7),))
    yield Case("training", "gradient of loops", gradient(lambda x: np.sum(loops(x)), 1), (asked(5, 7),))


def matmuls() -> Iterator[Case]:
    for element, dtype in DTYPES.items():
        for m, n, k in ((1, 1, 1), (17, 33, 50), (31, 7, 65), (200, 150, 300), (1, 1024, 1000), (1023, 1000, 33)):
            name = f"{m} x {k} @ {k} x {n}"
            yield Case(
                f"matmuls, {element}", name, value(product), (asked(m, k, dtype=dtype), asked(k, n, dtype=dtype))
            )
            turned = asked(k, m, dtype=dtype), asked(n, k, dtype=dtype)
            yield Case(f"matmuls, {element}", f"{name}, transposed", value(transposed), turned)
    yield Case("matmuls, f32", "in batches", value(products), (asked(3, 17, 40), asked(3, 40, 9), asked(40, 6, 7)))


@dataclass
class Counts:
    """Of a group."""

    programs: int = 0
    kernels: int = 0
    long: int = 0
    called: set[str] = field(default_factory=set)
    error: float = 0.0

    def add(self, found: Judged) -> None:
        self.programs += 1
        self.kernels += found.kernels
        self.long += found.compiled.long
        self.called |= found.compiled.called
        self.error = max(self.error, found.error)


HEAD = """# Third-party checks of the Ascend target

`make ascend-judges` runs them on the corpus: each program below was judged completely, stage `hivm-virtual` and stage
`hivm-physical`. Arrays have 33 elements, or rows of 33, unless stated otherwise.

- *Read again*: mlirad's parser reads both stages, in both forms of MLIR, and prints the same.
- *Verified*: `bishengir-opt` of `ascendnpu-ir` 1.2.0 accepts both stages.
- *Compiled*: `bishengir-compile` takes all kernels of `hivm-virtual` up to the missing `hivmc`, with no other error
  and no instruction left. Each function of the library that is then called is defined in the shipped bitcode of its
  core. *Long*: kernels for which the pass that inserts flags takes more than 10 s of processor time; they were
  compiled with the older one (`--enable-hivm-graph-sync-solver=false`).
- *CPU*: `hivm-virtual` as upstream MLIR, compiled by `mlir-opt-19` and LLVM, gives the numbers that the simulator
  gives for `hivm-physical`. The largest relative error is listed.

| programs | judged | kernels | long | functions of the library | CPU |
|---|---:|---:|---:|---:|---:|
"""


def main(args: Sequence[str] | None = None) -> int:
    """Exit code 1: a judge refuses a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of cases, or of groups")
    parser.add_argument("--page", type=Path)
    asked_for = parser.parse_args(args)
    warnings.simplefilter("ignore")
    package = importlib.util.find_spec("ascendnpuir")
    assert package is not None and package.origin is not None, "pip install 'mlirad[oracles]'"
    bishengir = Bishengir(Path(package.origin).parent)
    groups, refused = dict[str, Counts](), list[str]()
    used: set[str] = set()
    for case in (each for part in (sample, functions, large, training, matmuls) for each in part()):
        if asked_for.names and case.name not in asked_for.names and case.group not in asked_for.names:
            continue
        start = time.process_time()
        try:
            found = judge(bishengir, case.kernel, *case.args)
        except Refused as error:
            refused.append(f"{case.group}: {case.name}")
            print(f"{refused[-1]}\n{str(error)[:2000]}", flush=True)
            continue
        used |= found.instructions
        groups.setdefault(case.group, Counts()).add(found)
        print(f"{case.group}: {case.name}: {found.error:.1e}, {time.process_time() - start:.1f} s", flush=True)
    rows = [
        f"| {name} | {one.programs} | {one.kernels} | {one.long} | {len(one.called)} | {one.error:.0e} |"
        for name, one in groups.items()
    ]
    called = set[str]().union(*(one.called for one in groups.values()))
    ops = len(list(HIVM.operations))
    end = f"{len(used)} of the {ops} ops of our `hivm` occur."
    whole = [sum(getattr(one, name) for one in groups.values()) for name in ("programs", "kernels", "long")]
    rows.append(f"| all | {whole[0]} | {whole[1]} | {whole[2]} | {len(called)} | |")
    page = HEAD + "\n".join(rows) + f"\n\n{end} Refused: {'; '.join(refused) or 'none'}.\n"
    print(page)
    if asked_for.page is not None:
        asked_for.page.write_text(page)
    return int(bool(refused))


if __name__ == "__main__":
    raise SystemExit(main())
