"""Reads: nothing. Writes: the time of the Jacobian of a hand's residuals, beside its value and JAX's. Leaves: 0.

    python benchmarks/jacobians.py [--vertices N ...] [--budget SECONDS]

`mlirad.jacfwd` computes 26 derivatives in one forward sweep, in which all that does not depend on the direction is
computed once. The residuals are those of `programs/hand_tracking.py`; JAX gets them without the loop over the bones.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from harness import Work, has, medians
from programs import hand_tracking

import mlirad

STEP = 1e-6


def jacobian_of_jax(*arguments: object) -> Work:
    import jax

    jax.config.update("jax_enable_x64", True)
    jacobian = jax.jit(jax.jacfwd(hand_tracking.jax_residuals()))
    return lambda: jax.block_until_ready(jacobian(*arguments))


def main() -> int:
    command_line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command_line.add_argument("--vertices", nargs="+", type=int, default=hand_tracking.SIZES)
    command_line.add_argument("--budget", type=float, default=2.0, help="seconds of samples for a row")
    arguments = command_line.parse_args()
    value, jacobian = mlirad.jit(hand_tracking.residuals), mlirad.jacfwd(hand_tracking.residuals)
    print("| vertices | value, us | Jacobian, us | Jacobian / value | JAX's Jacobian / mlirad's | largest difference |")
    print("|---:|---:|---:|---:|---:|---:|")
    for vertices in arguments.vertices:
        pose, *others = hand_tracking.arguments(vertices)
        moves = STEP * np.eye(len(pose))
        slopes = [(value(pose + d, *others) - value(pose - d, *others)) / (2.0 * STEP) for d in moves]
        difference = np.max(np.abs(jacobian(pose, *others) - np.stack(slopes, axis=-1)))
        contenders = {"value": partial(value, pose, *others), "Jacobian": partial(jacobian, pose, *others)}
        if has("jax"):
            contenders["JAX"] = jacobian_of_jax(pose, *others)
            contenders["JAX"]()
        seconds = medians(contenders, arguments.budget)
        ours = seconds["Jacobian"]
        theirs = f"{seconds['JAX'] / ours:.2f}" if "JAX" in seconds else "-"
        figures = f"{1e6 * seconds['value']:.1f} | {1e6 * ours:.0f} | {ours / seconds['value']:.1f} | {theirs}"
        print(f"| {vertices:,} | {figures} | {difference:.0e} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
