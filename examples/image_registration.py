"""Image registration: finds how far an image has moved, by gradients through bilinear interpolation.

The moving image is read between its pixels, at positions that depend on the parameters: `floor`, four gathers, weights.
SciPy's BFGS minimises the sum of squared differences, with gradients from `mlirad.value_and_grad`.

    python examples/image_registration.py
"""

import sys

import numpy as np
from pictures.png import save
from scipy.optimize import minimize

import mlirad

SIZE, MARGIN = 64, 8
SHIFT = np.array([3.4, -2.7])  # rows, columns
BLOBS = np.random.default_rng(5).uniform([8, 8, 3, 0.3], [56, 56, 9, 1], (25, 4))  # centre, width, height


def scene(rows, columns):
    """The brightness of the scene at any place: a sum of Gaussian blobs."""
    image = np.zeros(np.broadcast_shapes(rows.shape, columns.shape))
    for row, column, width, height in BLOBS:
        image += height * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * width**2))
    return image / 4


def bilinear(image, rows, columns):
    """The image between its pixels, at each row with each column."""
    i = np.clip(np.floor(rows), 0, image.shape[0] - 2).astype(int)
    j = np.clip(np.floor(columns), 0, image.shape[1] - 2).astype(int)
    v, u = (rows - i)[:, None], (columns - j)[None, :]
    i, j = i[:, None], j[None, :]
    above = (1 - u) * image[i, j] + u * image[i, j + 1]
    below = (1 - u) * image[i + 1, j] + u * image[i + 1, j + 1]
    return (1 - v) * above + v * below


def loss(shift, fixed, moving):
    """Mean squared difference where both images are known."""
    inside = np.arange(MARGIN, SIZE - MARGIN)
    seen = bilinear(moving, inside + shift[0], inside + shift[1])
    return np.mean((seen - fixed[MARGIN : SIZE - MARGIN, MARGIN : SIZE - MARGIN]) ** 2)


def main():
    grid = np.arange(SIZE, dtype=float)
    fixed = scene(grid[:, None], grid[None, :])
    moving = scene(grid[:, None] - SHIFT[0], grid[None, :] - SHIFT[1])
    fit = minimize(mlirad.value_and_grad(loss), np.zeros(2), (fixed, moving), jac=True, method="BFGS", tol=1e-10)
    print(f"shift {SHIFT}, found {np.round(fit.x, 4)}, by {fit.nfev} gradients")
    print(f"mean squared difference {loss(np.zeros(2), fixed, moving):.1e} before, {fit.fun:.1e} after")
    back = bilinear(moving, np.clip(grid + fit.x[0], 0, SIZE - 1), np.clip(grid + fit.x[1], 0, SIZE - 1))
    gap = np.ones((SIZE, 2))
    wide = [fixed, gap, moving, gap, 0.5 + 4 * (moving - fixed), gap, 0.5 + 4 * (back - fixed)]
    save("image_registration.png", np.concatenate(wide, axis=1), scale=3)

    # Self-check: the gradient agrees with the difference quotient, and the shift is the true one, to the accuracy of
    # linear interpolation.
    way, at = np.array([0.6, -0.8]), np.array([1.3, -0.4])
    slope = (loss(at + 1e-6 * way, fixed, moving) - loss(at - 1e-6 * way, fixed, moving)) / 2e-6
    exact = np.sum(mlirad.grad(loss)(at, fixed, moving) * way)
    distance = np.max(np.abs(fit.x - SHIFT))
    print(f"gradient against differences {abs(exact / slope - 1):.1e}; shift off by {distance:.1e} pixels")
    return 0 if abs(exact / slope - 1) < 1e-6 and distance < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
