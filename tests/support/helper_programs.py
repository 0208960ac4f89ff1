"""Random programs whose helpers are called from many places: views and writes of one array, loops and branches around
the calls, helpers that call helpers, and errors raised inside."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_HELPERS = (
    # A recurrence.
    """
def {name}(x, a):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = np.tanh(a * y[i - 1]) + 0.5 * x[i]
    return y
""",
    # Reductions around a loop, and a result that is not an array.
    """
def {name}(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sin(x[i] * a) * x[-1 - i]
    return x * 0.5 + np.tanh(total)
""",
    # A loop with a branch that data decides, and two results.
    """
def {name}(x, a):
    y, largest = np.zeros(x.shape[0]), x[0]
    for i in range(x.shape[0]):
        if x[i] > a * 0.1:
            largest = largest * 0.5 + x[i]
        else:
            y[i] = x[i] * a
    return 0.5 * y + np.tanh(largest)
""",
    # A while, and an early return.
    """
def {name}(x, a):
    y, k = x * 1.0, 0
    while k < 6:
        y[k % x.shape[0]] = np.cos(y[k % x.shape[0]] * a)
        if y[0] > 0.9:
            return y * 0.5
        k += 1
    return y * a * 0.3
""",
    # It writes in its argument.
    """
def {name}(x, a):
    for i in range(1, x.shape[0]):
        x[i] = 0.5 * x[i] + 0.1 * a * x[i - 1]
    return x[::-1]
""",
    # A view of its argument.
    """
def {name}(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total = np.tanh(total + a * x[i])
    return x[::-1] if a > 5.0 else x * total
""",
    # A captured array, and a list.
    """
def {name}(x, a):
    parts = []
    for i in range(x.shape[0]):
        parts.append(np.tanh(x[i]) * WEIGHTS[i % 3] + a)
    return np.array(parts) * 0.5
""",
    # It may raise.
    """
def {name}(x, a):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 40.0:
            raise ValueError(f"too large: {{i}}")
        y[i] = x[i] / (1.0 + x[i] * x[i]) + a
    return y
""",
    # An exponent, which is better known.
    """
def {name}(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total = 0.5 * total + abs(x[i]) ** a
    return x * np.tanh(total)
""",
    # A number that only Python can handle: it must be known.
    """
def {name}(x, a):
    y = x * 1.0
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i] * a)
    return y[: int(a * 10) % 2 + 10] if isinstance(a, float) else y
""",
    # It calls another helper, twice.
    """
def {name}(x, a):
    y = {other}(x, a)
    for i in range(2):
        y = y + 0.3 * {other}(0.5 * y, 0.5)
    return np.tanh(y)
""",
)

_STATEMENTS = (
    "x = {h}(x, {a})",
    "y = {h}(x, {a}) - 0.2 * y",
    "x = x + 0.1 * {h}(y, {a})",
    "x = 0.5 * {h}({h}(y, {a}), 0.7)",
    "x[1:] = {h}(y[:-1], {a})",
    "y[::2] += 0.5 * {h}(x[::2], {a})",
    "y = {h}(x[::-1], {a}) + {h}(x, {a})",
    "if x[0] > y[1]:\n    x = {h}(x, {a})\nelse:\n    y = {h}(y, {a})",
    "for t in range(3):\n    x = 0.5 * {h}(x, {a}) + 0.1 * y",
    "for t in range(3):\n    y[t] = 0.5 * {h}(x, 0.3)[t] + 0.1 * t",
    "for t in range(2):\n    x = 0.5 * {h}(x, {a})\n    y = y * 0.5 + {h}(x, {a})",
    "z = x\nz = {h}(z, {a})\nx = x + 0.1 * z",
    "t = 0\nwhile t < 3:\n    x = 0.7 * {h}(x, {a})\n    t += 1",
)


def source_of(seed: int) -> str:
    rng = random.Random(seed)
    chosen = rng.sample(_HELPERS, rng.randint(1, 3))
    text = "WEIGHTS = np.array([0.3, -0.6, 0.9])\n"
    names: list[str] = []
    for number, helper in enumerate(chosen):
        if "{other}" in helper and not names:
            helper = _HELPERS[0]
        names.append(f"h{number}")
        text += helper.format(name=names[-1], other=rng.choice(names[:-1] or names))
    body = "x, y = x * 1.0, np.cos(x)\n"
    for _ in range(rng.randint(5, 9)):
        numbers = ("0.7", "0.7", "1.3", "0.2", "2.0", "6.5", "c", "c * 0.5")
        body += rng.choice(_STATEMENTS).format(h=rng.choice(names), a=rng.choice(numbers)) + "\n"
    body += "return np.sum(np.tanh(x) * np.arange(1.0, 6.0)) + np.sum(np.sin(y))\n"
    return text + "\ndef program(x, c):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def program_of(seed: int) -> Callable[[Any, Any], Any]:
    source, name = source_of(seed), f"<program {seed} of helpers>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]
