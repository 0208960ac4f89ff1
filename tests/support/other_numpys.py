"""How other versions of NumPy differ from 2.4, which compiled code follows: docs/running.md, "Versions".

Reads: NumPy's answers, and its version. Writes: nothing. Gives: whether tests may compare with NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

POWERS_PROMOTE = (np.ones(1, np.uint8) ** np.int8(2)).dtype == np.int16
"""Whether the dtype of `array ** scalar` does not depend on the value of the scalar: from 2.3 on."""


def _reads_indices_first() -> bool:
    places = np.array([1, 1, 3, -1])
    places[places] = places[::-1]
    return places.tolist() == [1, 3, 3, 1]


READS_INDICES_FIRST = _reads_indices_first()
"""Whether `i[i] = x` reads all indices before it writes: from 2.3 on."""

HAS_REAL_CONDITIONS = np.linalg.cond(np.eye(1) * 1j, 1).dtype == np.float64
"""Whether `cond` of complex matrices is real in all norms: from 2.3 on."""

IS_OTHER = not np.__version__.startswith("2.4.")
"""Whether functions may take what NumPy 2.4 refuses, or refuse what it takes."""

CHANGED = {"np.cov", "np.float64", "np.trim_zeros"} if np.lib.NumpyVersion(np.__version__) < "2.4.0" else set[str]()
"""Functions that may give something else than in NumPy 2.4."""


def has_changed(found: Any, wanted: Any) -> bool:
    """Whether one of two outcomes is an exception, and the other one need not be, as this is not NumPy 2.4."""
    return IS_OTHER and (isinstance(found, Exception) or isinstance(wanted, Exception))


def has(name: str) -> bool:
    """Whether NumPy has a function, `numpy.linalg.norm` say, which gives what it gives in NumPy 2.4."""
    module, _, short = name.rpartition(".")
    return hasattr(import_module(module), short) and name.replace("numpy", "np", 1) not in CHANGED
