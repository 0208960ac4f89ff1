"""A function that is an instruction of Acme's processor, as plain NumPy, which every other target compiles."""

import numpy as np


def clip6(x):
    """x, not less than 0 and not more than 6."""
    return np.minimum(np.maximum(x, 0.0), 6.0)
