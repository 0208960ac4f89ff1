"""Measures MindSpore's three claims on `mlirad.interop.mindspore`: the speed of compiled derivatives compared with
op-by-op ones, the memory that recomputation and accumulation save, and the precision of derivatives. Prints tables.

    python benchmarks/mindspore_modes.py

Times are the shortest, taken in turns; memory is the figure of `last_memory()`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Work, shortest

import mlirad
import mlirad.interop.mindspore as ms
from mlirad.interop.mindspore import Tensor, nn, ops
from mlirad.library.lifted import Lifted

RNG = np.random.default_rng(0)
LAYERS, WIDTH, BATCH, PARTS = 16, 64, 4096, 8


# --- programs ---------------------------------------------------------------------------------------------------


def layer(x: Any, y: Any, w: Any, b: Any) -> Any:
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z))


def layer_arguments(batch: int, dtype: Any) -> tuple[Tensor, ...]:
    shapes = ((batch, 64), (batch, 32), (64, 32), (32,))
    x, y, w, b = (Tensor(RNG.standard_normal(shape), dtype) for shape in shapes)
    return x, Tensor(y.data > 0, dtype), w, b


class Deep(nn.Cell):
    """Blocks of two layers; each block may be recomputed."""

    def __init__(self, recomputes: bool):
        super().__init__()
        ms.set_seed(0)
        pairs = [(nn.Dense(WIDTH, WIDTH), nn.ReLU(), nn.Dense(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS // 2)]
        self.blocks = [nn.SequentialCell(*each) for each in pairs]
        for each in self.blocks if recomputes else []:
            each.recompute()

    def construct(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return (x * x).mean()


def lenet_gradient(dtype: Any) -> Work:
    """A gradient of LeNet-5 on a batch of its digits."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "lenet"))
    import lenet_mindspore as lenet

    data, chosen = lenet.digits(), next(lenet.batches())
    weights = {name: each.astype(dtype) for name, each in lenet.initial_weights().items()}
    network, loss_function = lenet.LeNet5(weights), nn.CrossEntropyLoss()
    gradients = ms.grad(lambda x, y: loss_function(network(x), y), None, weights=network.trainable_params())
    return lambda: gradients(Tensor(data.images[chosen], dtype), Tensor(data.labels[chosen]))


def in_mode(mode: int, work: Work) -> Work:
    def run() -> object:
        ms.set_context(mode=mode)
        return work()

    return run


# --- tables -----------------------------------------------------------------------------------------------------


def speed() -> None:
    print("| a gradient of | compiled, us | op by op, us | op by op / compiled |\n|---|---:|---:|---:|")
    works: dict[str, Work] = {}
    for batch in (1, 64, 4096):
        gradients, args = ms.grad(layer, (2, 3)), layer_arguments(batch, ms.float32)
        works[f"a layer of 64 x 32, {batch} examples"] = lambda g=gradients, a=args: g(*a)
    works["LeNet-5, 32 digits"] = lenet_gradient(np.float32)
    for name, work in works.items():
        modes = {"compiled": in_mode(ms.GRAPH_MODE, work), "op by op": in_mode(ms.PYNATIVE_MODE, work)}
        found = shortest(modes, rounds=9)
        compiled, stepped = found["compiled"], found["op by op"]
        print(f"| {name} | {compiled * 1e6:,.0f} | {stepped * 1e6:,.0f} | {stepped / compiled:.1f} |")
    ms.set_context(mode=ms.GRAPH_MODE)


def memory() -> None:
    print(f"\n| {LAYERS} layers of {WIDTH}, {BATCH:,} examples | memory of a gradient, KB | saved |\n|---|---:|---:|")
    plain = 0
    for name, recomputes, parts in (
        ("plain", False, 1),
        ("blocks of two layers recomputed", True, 1),
        (f"{PARTS} parts accumulated", False, PARTS),
        ("both", True, PARTS),
    ):
        network = Deep(recomputes)
        arrays = tuple(each.data for each in network.trainable_params())
        # The kernel that ms.grad makes, because it reports its memory.
        kernel = mlirad.grad(Lifted(lambda x, network=network: network(x).data, network.trainable_params()))
        kernel(arrays, Tensor(RNG.standard_normal((BATCH // parts, WIDTH)), ms.float32))
        sums = sum(each.nbytes for each in arrays) if parts > 1 else 0
        found = (kernel.last_memory() or 0) + sums
        plain = plain or found
        print(f"| {name} | {found / 1024:,.0f} | {1 - found / plain:.0%} |")


def lecture(x: Any) -> Any:
    """The lecture's example; its derivative swells when it is written out."""
    y = np.exp(x)
    z = y + y * y
    return np.exp(z) + np.sin(z)


def thrice(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    once = ms.grad(f)
    twice = ms.grad(lambda x: once(x))
    return ms.grad(lambda x: twice(x))


def precision() -> None:
    """Errors relative to closed forms, or to float64 if there is none."""
    print("\n| derivative | mode | float32 | float64 | best central difference, float64 |\n|---|---|---:|---:|---:|")
    steps = 10.0 ** -np.arange(2.0, 10.0, 0.5)
    numbers: dict[str, tuple[Any, float, float, float]] = {
        "exp(z) + sin(z), z = exp(x) + exp(x)^2, at 0.5": (
            ms.grad(lecture),
            555.9719679015084,
            0.5,
            min(abs((lecture(0.5 + h) - lecture(0.5 - h)) / (2 * h) / 555.9719679015084 - 1) for h in steps),
        ),
        "the third of sin, at 1": (
            thrice(np.sin),
            -0.5403023058681398,
            1.0,
            min(
                abs(
                    (np.sin(1 + 2 * h) - 2 * np.sin(1 + h) + 2 * np.sin(1 - h) - np.sin(1 - 2 * h))
                    / (2 * h**3)
                    / -0.5403023058681398
                    - 1
                )
                for h in steps
            ),
        ),
    }
    modes = {"compiled": ms.GRAPH_MODE, "op by op": ms.PYNATIVE_MODE}
    for name, (derivative, exact, at, difference) in numbers.items():
        for mode, number in modes.items():
            ms.set_context(mode=number)
            errors = [abs(float(derivative(kind(at))) / exact - 1) for kind in (np.float32, np.float64)]
            print(f"| {name} | {mode} | {errors[0]:.1e} | {errors[1]:.1e} | {difference:.1e} |")
    ms.set_context(mode=ms.GRAPH_MODE)
    found = {}
    for mode, number in modes.items():
        ms.set_context(mode=number)
        found[mode] = [lenet_gradient(dtype)() for dtype in (np.float32, np.float64)]
    ms.set_context(mode=ms.GRAPH_MODE)
    for (mode, (single, double)), (_, exact_slopes) in zip(found.items(), reversed(found.values()), strict=True):
        errors = [largest(each, exact_slopes) for each in (single, double)]
        print(f"| LeNet-5, of all parameters, by the other mode | {mode} | {errors[0]:.1e} | {errors[1]:.1e} | |")


def largest(found: Any, exact: Any) -> float:
    """The largest error of a parameter's gradient, relative to its largest number."""
    pairs = zip(found, exact, strict=True)
    return max(float(np.max(np.abs(x.data - y.data)) / np.max(np.abs(y.data))) for x, y in pairs)


if __name__ == "__main__":
    speed()
    memory()
    precision()
