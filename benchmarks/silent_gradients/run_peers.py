"""`python run_peers.py`: prints, as JSON, the verdict on each program for each peer in this interpreter."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "support")]

from silent_gradients import PROGRAMS, Program  # noqa: E402 - after the path

# The peer's name in the page, its module, and the package with its version.
PEERS = {
    "Warp": ("warp", "warp-lang"),
    "Taichi": ("taichi", "taichi"),
    "PyTorch": ("torch", "torch"),
    "MindSpore": ("mindspore", "mindspore"),
    "JAX": ("jax", "jax"),
    "HIPS autograd": ("autograd", "autograd"),
}


def value_of(program: Program, x: np.ndarray) -> float:
    """The value of the plain function."""
    return float(program.function(x, *program.constants))  # pyright: ignore[reportArgumentType]  # a number


def differences(program: Program) -> np.ndarray:
    """The gradient by central differences of the plain function."""
    step, x = 1e-6, program.x
    unit = np.eye(x.size)
    return np.array([(value_of(program, x + step * e) - value_of(program, x - step * e)) / (2 * step) for e in unit])


def judged(gradient: np.ndarray, program: Program) -> str:
    """ "right", or the wrong numbers."""
    if np.allclose(gradient, differences(program), rtol=1e-5, atol=1e-6):
        return "right"
    return "**wrong**: " + ", ".join(f"{number:.5g}" for number in np.ravel(gradient))


def verdict(peer: str, program: Program) -> str:
    """The verdict for a peer: right or wrong, another value, an exception; "-" if it is not written for the peer."""
    x = program.x.copy()
    try:
        if peer in ("jax", "autograd", "mindspore"):
            as_it_stands = getattr(importlib.import_module("as_it_stands"), f"in_{peer}")
            value, gradient = as_it_stands(program.function, x, program.constants)
            if not np.isclose(value, value_of(program, program.x)):
                return "another value"
            return judged(gradient, program)
        module = importlib.import_module(f"in_{peer}")
        if not hasattr(module, program.name):
            return "-"
        return judged(module.gradient(program.name, x, program.constants), program)
    except Exception as error:  # noqa: BLE001 - a peer may raise anything, and that is reported
        return type(error).__name__


if __name__ == "__main__":
    found = {}
    for name, (module, distribution) in PEERS.items():
        if find_spec(module) is not None:
            verdicts = {program.name: verdict(module, program) for program in PROGRAMS}
            found[f"{name} {importlib.metadata.version(distribution)}"] = verdicts
    print("\n" + json.dumps(found))
