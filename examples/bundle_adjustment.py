"""Bundle adjustment: cameras and points from the pictures of points, by a sparse Jacobian whose pattern is found.

The model of the data sets "Bundle Adjustment in the Large" (Agarwal, Snavely, Seitz and Szeliski 2010): a camera is a
rotation (an axis times an angle, Rodrigues), a translation, a focal length and two coefficients of distortion. Four of
the cameras see each point; five points were surveyed, so the answer is unique. The residual is a loop over the
observations. A row of its Jacobian has 12 entries, so 12 forward sweeps compute the whole Jacobian, whatever the number
of cameras and points. `scipy.optimize.least_squares` takes the sparse matrix unchanged.

    python examples/bundle_adjustment.py
"""

import sys
from typing import Any, cast

import numpy as np
from scipy.optimize import least_squares

import mlirad

CAMERAS, POINTS, SEEN_BY, SURVEYED = 8, 60, 4, 5
OF_CAMERA = 9  # rotation (3), translation (3), focal length, two coefficients of distortion


def rotated(axis, point):
    """The point, turned about the axis by its length."""
    square = np.sum(axis * axis)
    along = np.sum(axis * point)
    cross = np.empty(3)
    for k in range(3):
        cross[k] = axis[(k + 1) % 3] * point[(k + 2) % 3] - axis[(k + 2) % 3] * point[(k + 1) % 3]
    if square > 1e-16:
        angle = np.sqrt(square)
        return np.cos(angle) * point + np.sin(angle) / angle * cross + (1 - np.cos(angle)) / square * along * axis
    return point + cross  # to first order


def seen(camera, point):
    """Where the camera sees the point, in pixels."""
    place = rotated(camera[:3], point) + camera[3:6]
    flat = -place[:2] / place[2]
    square = np.sum(flat * flat)
    return camera[6] * (1.0 + square * (camera[7] + camera[8] * square)) * flat


def residual(unknowns, which_camera, which_point, pixels, surveyed):
    """Pixels that each observation is off, then a thousand times what the surveyed points are off.

    unknowns: 9 for each camera, then 3 for each point.
    """
    cameras = unknowns[: CAMERAS * OF_CAMERA].reshape(CAMERAS, OF_CAMERA)
    points = unknowns[CAMERAS * OF_CAMERA :].reshape(POINTS, 3)
    off = np.empty((len(pixels), 2))
    for k in range(len(pixels)):
        off[k] = seen(cameras[which_camera[k]], points[which_point[k]]) - pixels[k]
    return np.concatenate([off.ravel(), 1e3 * (points[:SURVEYED] - surveyed).ravel()])


def scene(rng):
    """The truth: cameras on an arc that look at points near the origin; and who sees what."""
    cameras = np.zeros((CAMERAS, OF_CAMERA))
    cameras[:, 1] = np.linspace(-0.8, 0.8, CAMERAS)
    cameras[:, :3] += 0.1 * rng.normal(size=(CAMERAS, 3))
    cameras[:, 5] = -rng.uniform(5.0, 6.0, CAMERAS)
    cameras[:, 6] = rng.uniform(480.0, 520.0, CAMERAS)
    cameras[:, 7] = rng.uniform(-0.1, 0.1, CAMERAS)
    cameras[:, 8] = rng.uniform(-0.01, 0.01, CAMERAS)
    points = rng.uniform(-1.0, 1.0, (POINTS, 3))
    which_point = np.repeat(np.arange(POINTS), SEEN_BY)
    which_camera = np.concatenate([rng.permutation(CAMERAS)[:SEEN_BY] for _ in range(POINTS)])
    return np.concatenate([cameras.ravel(), points.ravel()]), which_camera, which_point


def main():
    rng = np.random.default_rng(0)
    truth, which_camera, which_point = scene(rng)
    points = truth[CAMERAS * OF_CAMERA :].reshape(POINTS, 3)
    nothing, nowhere = np.zeros((len(which_camera), 2)), np.zeros((SURVEYED, 3))
    compiled = mlirad.jit(residual)
    pixels = compiled(truth, which_camera, which_point, nothing, nowhere)[: nothing.size].reshape(-1, 2)
    data = which_camera, which_point, pixels, points[:SURVEYED].copy()

    start = truth + 0.05 * rng.normal(size=truth.size)
    start[: CAMERAS * OF_CAMERA].reshape(CAMERAS, OF_CAMERA)[:, 6:] = 500.0, 0.0, 0.0
    jacobian = mlirad.jacobian(residual)
    matrix = jacobian(start, *data)
    sweeps = jacobian.colours(start, *data).max() + 1
    print(f"{matrix.shape[0]} residuals of {matrix.shape[1]} unknowns; {matrix.nnz} entries by {sweeps} forward sweeps")

    exactly: Any = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    fit: Any = least_squares(compiled, start, jac=cast(Any, jacobian), args=data, x_scale="jac", **exactly)
    first, last = (np.sqrt(np.mean(each**2)) for each in (compiled(start, *data), fit.fun))
    off_truth = np.max(np.abs(fit.x - truth))
    print(f"{fit.njev} steps: from {first:.1f} pixels to {last:.1e}; off the truth by {off_truth:.1e}")

    # Self-check: the matrix equals the dense Jacobian and agrees with differences; the cameras and points are found.
    off_dense = np.max(np.abs(matrix.toarray() - mlirad.jacfwd(residual)(start, *data)))
    direction = rng.normal(size=start.size)
    change = (compiled(start + 1e-6 * direction, *data) - compiled(start - 1e-6 * direction, *data)) / 2e-6
    error = np.max(np.abs(matrix @ direction - change)) / np.max(np.abs(change))
    print(f"off the dense Jacobian by {off_dense:.1e}, off central differences by {error:.1e}")
    return 0 if sweeps == OF_CAMERA + 3 and off_dense < 1e-10 and error < 1e-7 and off_truth < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
