"""Loops with derivatives that need a tape; trip counts are constants, arguments, or depend on a condition."""

from __future__ import annotations

import numpy as np


def power(x, n):
    total = 0.0
    for _ in range(n):
        x = np.sin(x * x)
        total += x
    return total


def power_of_700(x):
    total = 0.0
    for _ in range(700):
        x = np.sin(x * x)
        total += x
    return total


def until(x, n):
    total, i = 0.0, 0
    while i < n:
        x = np.sin(x * x)
        total += x
        i += 1
    return total
