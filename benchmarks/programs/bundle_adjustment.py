"""Cameras and points in arrays of three: the squared errors of observations, and the adjoint by hand, in numbers.

The model of GradBench (and ADBench before it): a camera is a rotation (Rodrigues), a centre, a focal length, a
principal point and two coefficients of distortion.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = (1_000, 10_000, 100_000)
CAMERAS = 50


def arguments(observations: int) -> tuple[Any, ...]:
    """Cameras, points, weights, which camera sees which point, and where."""
    rng = np.random.default_rng(0)
    points = max(1, observations // 4)
    cameras, places = rng.normal(size=(CAMERAS, 11)), rng.normal(size=(points, 3)) + np.array([0.0, 0.0, 5.0])
    seen = np.stack([rng.integers(0, CAMERAS, observations), rng.integers(0, points, observations)], 1)
    return cameras, places, rng.normal(size=observations), seen, rng.normal(size=(observations, 2))


def operations(observations: int) -> int:
    return observations


def rotated(r, x):
    square = np.sum(r * r)
    if square > 1e-30:
        angle = np.sqrt(square)
        cosine, sine = np.cos(angle), np.sin(angle)
        axis = r / angle
        return x * cosine + np.cross(axis, x) * sine + axis * (np.dot(axis, x) * (1.0 - cosine))
    return x + np.cross(r, x)


def loss(cameras, points, weights, seen, pixels):
    total = 0.0
    for k in range(len(weights)):
        camera = cameras[seen[k, 0]]
        place = rotated(camera[:3], points[seen[k, 1]] - camera[3:6])
        flat = place[:2] / place[2]
        square = np.sum(flat * flat)
        distortion = 1.0 + camera[9] * square + camera[10] * square * square
        error = weights[k] * (flat * distortion * camera[6] + camera[7:9] - pixels[k])
        total += np.sum(error * error)
    return total


@numba.njit
def rotated_adjoint(r0, r1, r2, x0, x1, x2, g0, g1, g2):
    """The cotangents of r and x from the cotangents of the rotated point."""
    square = r0 * r0 + r1 * r1 + r2 * r2
    if square <= 1e-30:
        return (
            (x1 * g2 - x2 * g1, x2 * g0 - x0 * g2, x0 * g1 - x1 * g0),
            (g0 + g1 * r2 - g2 * r1, g1 + g2 * r0 - g0 * r2, g2 + g0 * r1 - g1 * r0),
        )
    angle = np.sqrt(square)
    c, s = np.cos(angle), np.sin(angle)
    w0, w1, w2 = r0 / angle, r1 / angle, r2 / angle
    along = w0 * x0 + w1 * x1 + w2 * x2
    g_t = g0 * w0 + g1 * w1 + g2 * w2
    g_along = g_t * (1.0 - c)
    g_c = g0 * x0 + g1 * x1 + g2 * x2 - g_t * along
    k0, k1, k2 = w1 * x2 - w2 * x1, w2 * x0 - w0 * x2, w0 * x1 - w1 * x0
    g_s = g0 * k0 + g1 * k1 + g2 * k2
    h0, h1, h2 = g0 * s, g1 * s, g2 * s
    t = along * (1.0 - c)
    v0 = g0 * t + g_along * x0 + x1 * h2 - x2 * h1
    v1 = g1 * t + g_along * x1 + x2 * h0 - x0 * h2
    v2 = g2 * t + g_along * x2 + x0 * h1 - x1 * h0
    d0 = g0 * c + g_along * w0 + h1 * w2 - h2 * w1
    d1 = g1 * c + g_along * w1 + h2 * w0 - h0 * w2
    d2 = g2 * c + g_along * w2 + h0 * w1 - h1 * w0
    g_angle = g_s * c - g_c * s - (v0 * w0 + v1 * w1 + v2 * w2) / angle
    per = g_angle / angle
    return (v0 / angle + per * r0, v1 / angle + per * r1, v2 / angle + per * r2), (d0, d1, d2)


@numba.njit
def adjoint(cameras, points, weights, seen, pixels):
    """Nothing is stored: the reverse of an observation begins with the observation."""
    g_cameras, g_points, g_weights = np.zeros_like(cameras), np.zeros_like(points), np.zeros_like(weights)
    for k in range(len(weights)):
        i, j, weight = seen[k, 0], seen[k, 1], weights[k]
        r0, r1, r2 = cameras[i, 0], cameras[i, 1], cameras[i, 2]
        x0, x1, x2 = points[j, 0] - cameras[i, 3], points[j, 1] - cameras[i, 4], points[j, 2] - cameras[i, 5]
        square = r0 * r0 + r1 * r1 + r2 * r2
        if square > 1e-30:
            angle = np.sqrt(square)
            c, s = np.cos(angle), np.sin(angle)
            w0, w1, w2 = r0 / angle, r1 / angle, r2 / angle
            t = (w0 * x0 + w1 * x1 + w2 * x2) * (1.0 - c)
            y0 = x0 * c + (w1 * x2 - w2 * x1) * s + w0 * t
            y1 = x1 * c + (w2 * x0 - w0 * x2) * s + w1 * t
            y2 = x2 * c + (w0 * x1 - w1 * x0) * s + w2 * t
        else:
            y0, y1, y2 = x0 + r1 * x2 - r2 * x1, x1 + r2 * x0 - r0 * x2, x2 + r0 * x1 - r1 * x0
        p, q = y0 / y2, y1 / y2
        far = p * p + q * q
        focal, k1, k2 = cameras[i, 6], cameras[i, 9], cameras[i, 10]
        distortion = 1.0 + k1 * far + k2 * far * far
        off_p = p * distortion * focal + cameras[i, 7] - pixels[k, 0]
        off_q = q * distortion * focal + cameras[i, 8] - pixels[k, 1]
        g_weights[k] = 2.0 * weight * (off_p * off_p + off_q * off_q)
        g_p, g_q = 2.0 * weight * weight * off_p, 2.0 * weight * weight * off_q
        g_cameras[i, 7] += g_p
        g_cameras[i, 8] += g_q
        both = g_p * p + g_q * q
        g_cameras[i, 6] += both * distortion
        g_distortion = both * focal
        g_cameras[i, 9] += g_distortion * far
        g_cameras[i, 10] += g_distortion * far * far
        g_far = 2.0 * g_distortion * (k1 + 2.0 * k2 * far)
        g_p, g_q = g_p * distortion * focal + g_far * p, g_q * distortion * focal + g_far * q
        g0, g1, g2 = g_p / y2, g_q / y2, -(g_p * p + g_q * q) / y2
        of_r, of_x = rotated_adjoint(r0, r1, r2, x0, x1, x2, g0, g1, g2)
        for m in range(3):
            g_cameras[i, m] += of_r[m]
            g_cameras[i, 3 + m] -= of_x[m]
            g_points[j, m] += of_x[m]
    return g_cameras, g_points, g_weights


jax_loss = None
