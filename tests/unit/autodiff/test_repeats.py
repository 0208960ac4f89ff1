"""The text of a gradient is the same in every process: nothing is ordered by addresses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import mlirad


def root(a):
    x = a
    while abs(x * x - a) > 1e-13 * a:
        x = 0.5 * (x + a / x)
    return 0.5 * (x + a / x)


def function(x):
    if x > 0.0:
        y = root(x) * x
    else:
        y = x * x
    return y


def longer(x, k=0):
    total = x
    while total < 4.0 and k < 3:
        if k == 1:
            total = total + root(x)
        k += 1
    return total * x


for each in (function, longer):
    print(mlirad.jit(mlirad.grad(each)).lower(0.9).as_text("autodiff"))
"""


def test_the_text_of_a_gradient_repeats(tmp_path: Path) -> None:
    texts: set[str] = set()
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    for _ in range(5):
        texts.add(subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout)
    assert len(texts) == 1 and "scf.while" in texts.pop()
