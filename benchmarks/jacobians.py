"""Reads: nothing. Writes: the times of Jacobians and Hessians, beside their values and JAX's. Leaves: 0.

    python benchmarks/jacobians.py [--vertices N ...] [--cases PART_OF_A_NAME ...] [--budget SECONDS]

`mlirad.jacfwd` computes 26 derivatives in one forward sweep, in which all that does not depend on the direction is
computed once. The residuals are those of `programs/hand_tracking.py`; JAX gets them without the loop over the bones.
The others are in `jacobian_programs.py`.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from harness import Work, has, medians
from jacobian_programs import Case, cases
from programs import hand_tracking

import mlirad

STEP = 1e-6


def jacobian_of_jax(*arguments: object) -> Work:
    import jax

    jax.config.update("jax_enable_x64", True)
    jacobian = jax.jit(jax.jacfwd(hand_tracking.jax_residuals()))
    return lambda: jax.block_until_ready(jacobian(*arguments))


def row_of(name: str, case: Case, budget: float) -> str:
    """A row of the table: the numbers of both are compared."""
    ours = partial(case.derivative, *case.arguments)
    contenders: dict[str, Work] = {"value": partial(case.value, *case.arguments), "derivative": ours}
    difference, ratio = "-", "-"
    if has("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = jax.jit(case.theirs(jax, jax.numpy, jax.lax))
        contenders["JAX"] = lambda: jax.block_until_ready(theirs(*case.arguments))
        pairs = zip(*map(jax.tree_util.tree_leaves, (ours(), contenders["JAX"]())), strict=True)
        difference = f"{max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs):.0e}"
    seconds = medians(contenders, budget)
    time, value = seconds["derivative"], seconds["value"]
    if "JAX" in seconds:
        ratio = f"{seconds['JAX'] / time:.2f}"
    figures = f"{1e6 * value:.1f} | {1e6 * time:.0f} | {time / value:.1f} | {ratio} | {difference}"
    return f"| {name} | {case.directions} | {figures} |"


def main() -> int:
    command_line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command_line.add_argument("--vertices", nargs="+", type=int, default=hand_tracking.SIZES)
    command_line.add_argument("--cases", nargs="*", help="parts of the names of the other programs; by default all")
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
    chosen = {
        name: case
        for name, case in cases().items()
        if arguments.cases is None or any(part in name for part in arguments.cases)
    }
    if chosen:
        print(
            "\n| derivative | directions | value, us | derivative, us | derivative / value | JAX's / mlirad's | error |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|")
    for name, case in chosen.items():
        print(row_of(name, case, arguments.budget))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
