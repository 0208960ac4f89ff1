"""`python measure.py [INTERPRETER...]`: writes docs/verification/silent-gradients.md.

mlirad runs in this interpreter, peers in the given ones: `pip install warp-lang taichi torch jax autograd` in one,
`mindspore` in another, because it needs an older NumPy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

from run_peers import HERE, PROGRAMS, judged

import mlirad

PAGE = HERE.parents[1] / "docs" / "verification" / "silent-gradients.md"
HEAD = """# Silently wrong gradients of other systems, compared with mlirad

Each program shows the bug of a report in the issue tracker of another system: its gradient was wrong there, without an
error. `tests/support/silent_gradients.py` has them in NumPy; `tests/unit/derivatives/test_silent_gradients.py`
compares mlirad's gradients with differences, in both modes. `benchmarks/silent_gradients/measure.py` writes this page.

PyTorch, Warp and Taichi run the programs as their users would write them. JAX, HIPS autograd and MindSpore (op by op)
run them unchanged, with their own `numpy` instead of NumPy. An exception is a refusal; "-": not written for the
system. *Another value*: in these libraries `view *= x` makes a new array, so the program computes something else,
without an error. Some of the bugs have been fixed since they were reported.

"""


KINDS = ("right", "wrong", "another value", "refused")


def kind(verdict: str) -> str:
    """One of KINDS, or "-"."""
    if verdict in ("right", "another value", "-"):
        return verdict
    return "wrong" if verdict.startswith("**wrong**") else "refused"


def table() -> str:
    """The programs, one per line, with all verdicts."""
    ours: dict[str, str] = {}
    peers = {f"mlirad {mlirad.__version__}": ours}
    for program in PROGRAMS:
        gradient = mlirad.grad(program.function)(program.x.copy(), *program.constants)
        ours[program.name] = judged(gradient, program)
    for interpreter in sys.argv[1:]:
        run = subprocess.run([interpreter, str(HERE / "run_peers.py")], capture_output=True, text=True, check=True)
        peers |= json.loads(run.stdout.splitlines()[-1])
    names = list(peers)
    lines = ["| program | report | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for program in PROGRAMS:
        verdicts = " | ".join(peers[name].get(program.name, "-") for name in names)
        lines.append(f"| `{program.name}`: {program.about} | [{program.report}]({program.address}) | {verdicts} |")
    sums = []
    for name, verdicts in peers.items():
        kinds = Counter(kind(verdict) for verdict in verdicts.values())
        sums.append(f"{name}: " + ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind]))
    return "\n".join(lines) + "\n\n" + "; ".join(sums) + ".\n"


if __name__ == "__main__":
    PAGE.write_text(HEAD + table())
    print(PAGE.read_text())
