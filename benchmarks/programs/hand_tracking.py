"""A hand's pose from points on its surface: linear blend skinning, the squared errors, and the adjoint by hand.

The model of GradBench (and ADBench before it), with 22 bones: 26 parameters are a rotation and a translation of the
whole hand, and four angles for each finger. A vertex is moved by the mean of its bones' transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = 0
SIZES = (100, 544, 10_000)
FINGERS, BONES = 5, 22
PARENTS = np.array([-1, 0, *(bone - 1 if bone % 4 != 2 else 1 for bone in range(2, BONES))])


def arguments(vertices: int) -> tuple[Any, ...]:
    """The pose; the bones' parents, transforms to their parents, and from the hand at rest; vertices, weights, points,
    and the vertex of each point."""
    rng = np.random.default_rng(0)
    relative, inverse = np.zeros((2, BONES, 4, 4))
    relative[:, :3, :3] = np.linalg.qr(rng.normal(size=(BONES, 3, 3)))[0]
    relative[:, :3, 3], relative[:, 3, 3] = rng.normal(size=(BONES, 3)), 1.0
    absolute = relative.copy()
    for bone in range(1, BONES):
        absolute[bone] = absolute[PARENTS[bone]] @ relative[bone]
    inverse = np.ascontiguousarray(np.linalg.inv(absolute))
    surface = np.concatenate([rng.normal(size=(3, vertices)), np.ones((1, vertices))])
    weights = rng.uniform(size=(BONES, vertices)) ** 8
    weights /= weights.sum(0)
    points, seen = rng.normal(size=(3, vertices)), rng.integers(0, vertices, vertices)
    return 0.3 * rng.normal(size=6 + 4 * FINGERS), PARENTS, relative, inverse, surface, weights, points, seen


def operations(vertices: int) -> int:
    """Products of a weight with an element of a transform."""
    return 12 * BONES * vertices


def bent(x, z):
    """A bone's rotation about its x axis, then about its z axis."""
    cx, sx, cz, sz = np.cos(x), np.sin(x), np.cos(z), np.sin(z)
    about_x = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, cx, -sx, 0.0], [0.0, sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]])
    about_z = np.array([[cz, -sz, 0.0, 0.0], [sz, cz, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    return about_z @ about_x


def rotation(r):
    square = np.sum(r * r)
    if square < 1e-30:
        return np.eye(3)
    angle = np.sqrt(square)
    w = r / angle
    cross = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return np.eye(3) * np.cos(angle) + cross * np.sin(angle) + np.outer(w, w) * (1.0 - np.cos(angle))


def residuals(pose, parents, relative, inverse, surface, weights, points, seen):
    """From each point to the vertex that it shows."""
    angles = np.zeros((len(parents), 2))
    for finger in range((len(pose) - 6) // 4):
        bone, k = 2 + 4 * finger, 6 + 4 * finger
        angles[bone] = pose[k : k + 2]
        angles[bone + 1, 0] = pose[k + 2]
        angles[bone + 2, 0] = pose[k + 3]
    absolute = np.zeros_like(relative)
    positions = np.zeros((3, surface.shape[1]))
    for bone in range(len(parents)):
        local = relative[bone] @ bent(angles[bone, 0], angles[bone, 1])
        absolute[bone] = local if parents[bone] < 0 else absolute[parents[bone]] @ local
        positions += ((absolute[bone] @ inverse[bone])[:3] @ surface) * weights[bone]
    moved = rotation(pose[:3]) @ positions + pose[3:6, None]
    return points - moved[:, seen]


def loss(pose, parents, relative, inverse, surface, weights, points, seen):
    error = residuals(pose, parents, relative, inverse, surface, weights, points, seen)
    return np.sum(error * error)


@numba.njit
def rotation_adjoint(r, g):
    """The cotangent of r from that of its rotation."""
    square = np.sum(r * r)
    if square < 1e-30:
        return np.zeros(3)
    angle = np.sqrt(square)
    w = r / angle
    c, s = np.cos(angle), np.sin(angle)
    axial = np.array([g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]])
    both = np.zeros(3)
    for i in range(3):
        for j in range(3):
            both[i] += (g[i, j] + g[j, i]) * w[j]
    g_w = s * axial + (1.0 - c) * both
    g_angle = c * np.sum(axial * w) - s * (g[0, 0] + g[1, 1] + g[2, 2] - 0.5 * np.sum(both * w))
    return (g_w - np.sum(g_w * w) * w) / angle + g_angle * w


@numba.njit
def affine(a, b, out):
    """The product of two transforms."""
    for i in range(3):
        for j in range(4):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
        out[i, 3] += a[i, 3]
    out[3, 3] = 1.0


@numba.njit
def adjoint(pose, parents, relative, inverse, surface, weights, points, seen):
    """The transforms of a vertex are blended first, so that vertices meet bones in two products of matrices."""
    bones, n = weights.shape
    angles = np.zeros((bones, 2))
    for finger in range((len(pose) - 6) // 4):
        bone, k = 2 + 4 * finger, 6 + 4 * finger
        angles[bone, 0], angles[bone, 1] = pose[k], pose[k + 1]
        angles[bone + 1, 0], angles[bone + 2, 0] = pose[k + 2], pose[k + 3]
    local, absolute = np.zeros((bones, 4, 4)), np.zeros((bones, 4, 4))
    rotated, moving, transforms = np.zeros((4, 4)), np.zeros((4, 4)), np.empty((12, bones))
    for bone in range(bones):
        cx, sx = np.cos(angles[bone, 0]), np.sin(angles[bone, 0])
        cz, sz = np.cos(angles[bone, 1]), np.sin(angles[bone, 1])
        rotated[0, 0], rotated[0, 1], rotated[0, 2] = cz, -sz * cx, sz * sx
        rotated[1, 0], rotated[1, 1], rotated[1, 2] = sz, cz * cx, -cz * sx
        rotated[2, 1], rotated[2, 2] = sx, cx
        affine(relative[bone], rotated, local[bone])
        if parents[bone] < 0:
            absolute[bone] = local[bone]
        else:
            affine(absolute[parents[bone]], local[bone], absolute[bone])
        affine(absolute[bone], inverse[bone], moving)
        transforms[:, bone] = moving[:3].copy().reshape(12)
    blended = np.dot(transforms, weights)
    square = pose[0] * pose[0] + pose[1] * pose[1] + pose[2] * pose[2]
    turn = np.eye(3)
    if square >= 1e-30:
        angle = np.sqrt(square)
        w0, w1, w2 = pose[0] / angle, pose[1] / angle, pose[2] / angle
        c, s = np.cos(angle), np.sin(angle)
        d = 1.0 - c
        turn[0, 0], turn[0, 1], turn[0, 2] = c + d * w0 * w0, d * w0 * w1 - s * w2, d * w0 * w2 + s * w1
        turn[1, 0], turn[1, 1], turn[1, 2] = d * w0 * w1 + s * w2, c + d * w1 * w1, d * w1 * w2 - s * w0
        turn[2, 0], turn[2, 1], turn[2, 2] = d * w0 * w2 - s * w1, d * w1 * w2 + s * w0, c + d * w2 * w2
    positions, moved = np.empty((3, n)), np.empty((3, n))
    for i in range(3):
        for v in range(n):
            x, y, z = surface[0, v], surface[1, v], surface[2, v]
            a, b, e, f = blended[4 * i, v], blended[4 * i + 1, v], blended[4 * i + 2, v], blended[4 * i + 3, v]
            positions[i, v] = a * x + b * y + e * z + f
    for i in range(3):
        for v in range(n):
            p, q, t = positions[0, v], positions[1, v], positions[2, v]
            moved[i, v] = turn[i, 0] * p + turn[i, 1] * q + turn[i, 2] * t + pose[3 + i]
    g_moved = np.zeros((3, n))
    for k in range(len(seen)):
        v = seen[k]
        for i in range(3):
            g_moved[i, v] -= 2.0 * (points[i, k] - moved[i, v])
    g_pose = np.zeros_like(pose)
    g_pose[:3] = rotation_adjoint(pose[:3], np.dot(g_moved, positions.T))
    for i in range(3):
        g_pose[3 + i] = np.sum(g_moved[i])
    g_blended = blended  # its memory
    for i in range(3):
        for v in range(n):
            g = turn[0, i] * g_moved[0, v] + turn[1, i] * g_moved[1, v] + turn[2, i] * g_moved[2, v]
            g_blended[4 * i, v], g_blended[4 * i + 1, v] = g * surface[0, v], g * surface[1, v]
            g_blended[4 * i + 2, v], g_blended[4 * i + 3, v] = g * surface[2, v], g
    g_transforms = np.dot(weights, g_blended.T)
    g_absolute, g_local = np.zeros((bones, 3, 4)), np.zeros((3, 4))
    for bone in range(bones):
        for i in range(3):
            for j in range(4):
                for m in range(4):
                    g_absolute[bone, i, j] += g_transforms[bone, 4 * i + m] * inverse[bone, j, m]
    for bone in range(bones - 1, -1, -1):
        parent, g = parents[bone], g_absolute[bone]
        if parent < 0:
            g_local[:] = g
        else:
            for i in range(3):
                for j in range(4):
                    for m in range(4):
                        g_absolute[parent, i, j] += g[i, m] * local[bone, j, m]
                    above = absolute[parent]
                    g_local[i, j] = above[0, i] * g[0, j] + above[1, i] * g[1, j] + above[2, i] * g[2, j]
        if bone >= 2 and bone % 4 != 1:
            own = relative[bone]
            cx, sx = np.cos(angles[bone, 0]), np.sin(angles[bone, 0])
            cz, sz = np.cos(angles[bone, 1]), np.sin(angles[bone, 1])
            g_rotated = np.zeros((3, 3))
            for i in range(3):
                for j in range(3):
                    g_rotated[i, j] = own[0, i] * g_local[0, j] + own[1, i] * g_local[1, j] + own[2, i] * g_local[2, j]
            from_x = g_rotated[0, 1] * sz * sx + g_rotated[0, 2] * sz * cx
            from_x -= g_rotated[1, 1] * cz * sx + g_rotated[1, 2] * cz * cx
            from_x += g_rotated[2, 1] * cx - g_rotated[2, 2] * sx
            k = 6 + 4 * ((bone - 2) // 4)
            if bone % 4 == 2:
                g_pose[k] = from_x
                from_z = cz * g_rotated[1, 0] - sz * g_rotated[0, 0]
                from_z += cz * (sx * g_rotated[0, 2] - cx * g_rotated[0, 1])
                from_z += sz * (sx * g_rotated[1, 2] - cx * g_rotated[1, 1])
                g_pose[k + 1] = from_z
            else:
                g_pose[k + 1 + (bone - 2) % 4] = from_x
    return g_pose


def jax_residuals() -> Callable[..., Any]:
    """The loop over the bones is unrolled, and their products are one."""
    import jax.numpy as jnp

    def bent(x, z):
        cx, sx, cz, sz = jnp.cos(x), jnp.sin(x), jnp.cos(z), jnp.sin(z)
        rows = [[cz, -sz * cx, sz * sx, 0.0], [sz, cz * cx, -cz * sx, 0.0], [0.0, sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]]
        return jnp.array([jnp.stack([jnp.asarray(x, float) for x in row]) for row in rows])

    def rotation(r):
        angle = jnp.sqrt(jnp.sum(r * r))
        w = r / angle
        cross = jnp.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        return jnp.eye(3) * jnp.cos(angle) + cross * jnp.sin(angle) + jnp.outer(w, w) * (1.0 - jnp.cos(angle))

    def residuals(pose, _parents, relative, inverse, surface, weights, points, seen):
        fingers = pose[6:].reshape(FINGERS, 4)
        angles = jnp.zeros((BONES, 2)).at[2::4].set(fingers[:, :2])
        angles = angles.at[3::4, 0].set(fingers[:, 2]).at[4::4, 0].set(fingers[:, 3])
        absolute = []
        for bone in range(BONES):
            local = relative[bone] @ bent(angles[bone, 0], angles[bone, 1])
            absolute.append(local if PARENTS[bone] < 0 else absolute[PARENTS[bone]] @ local)
        transforms = (jnp.stack(absolute) @ inverse)[:, :3]
        blended = jnp.tensordot(transforms, weights, ((0,), (0,)))
        positions = jnp.sum(blended * surface, 1)
        moved = rotation(pose[:3]) @ positions + pose[3:6, None]
        return points - moved[:, seen]

    return residuals


def jax_loss() -> Callable[..., Any]:
    import jax.numpy as jnp

    errors = jax_residuals()

    def loss(*arguments):
        error = errors(*arguments)
        return jnp.sum(error * error)

    return loss
