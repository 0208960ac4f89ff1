"""Shortest paths, bodies, flows; and programs on integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_programs.program import Program


def floyd_warshall(path):
    """The lengths of all shortest paths, in place."""
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def accelerations(place, mass, gravity, softening):
    x, y, z = place[:, 0:1], place[:, 1:2], place[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = dx**2 + dy**2 + dz**2 + softening**2
    inverse[inverse > 0.0] = inverse[inverse > 0.0] ** (-1.5)
    ax = gravity * (dx * inverse) @ mass
    ay = gravity * (dy * inverse) @ mass
    az = gravity * (dz * inverse) @ mass
    return np.hstack((ax, ay, az))


def energies(place, speed, mass, gravity):
    kinetic = 0.5 * np.sum(mass * speed**2)
    x, y, z = place[:, 0:1], place[:, 1:2], place[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = np.sqrt(dx**2 + dy**2 + dz**2)
    inverse[inverse > 0.0] = 1.0 / inverse[inverse > 0.0]
    potential = gravity * np.sum(np.triu(-(mass * mass.T) * inverse, 1))
    return kinetic, potential


def nbody(mass, place, speed, steps, dt, gravity, softening):
    """Gravity by leapfrog; the energies after each step, as two arrays."""
    momentum = np.mean(mass * speed, axis=0) / np.mean(mass)
    speed -= momentum
    pull = accelerations(place, mass, gravity, softening)
    kinetic = np.zeros(steps + 1, dtype=place.dtype)
    potential = np.zeros(steps + 1, dtype=place.dtype)
    kinetic[0], potential[0] = energies(place, speed, mass, gravity)
    for t in range(steps):
        speed += pull * dt / 2.0
        place += speed * dt
        pull = accelerations(place, mass, gravity, softening)
        speed += pull * dt / 2.0
        kinetic[t + 1], potential[t + 1] = energies(place, speed, mass, gravity)
    return kinetic, potential


def divergence(b, rho, dt, u, v, dx, dy):
    du = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)
    dv = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)
    cross = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx)
    b[1:-1, 1:-1] = rho * ((du + dv) / dt - du**2 - 2.0 * cross - dv**2)


def advance(u, v, un, vn, p, dt, dx, dy, rho, nu, force):
    u[1:-1, 1:-1] = (
        un[1:-1, 1:-1]
        - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
        - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
        - dt / (2.0 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        + nu * dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
        + nu * dt / dy**2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        + force * dt
    )
    v[1:-1, 1:-1] = (
        vn[1:-1, 1:-1]
        - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
        - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
        - dt / (2.0 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        + nu * dt / dx**2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
        + nu * dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
    )


def relaxed(p, pn, b, dx, dy):
    return ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
        2.0 * (dx**2 + dy**2)
    ) - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b[1:-1, 1:-1]


def cavity_flow(steps, sweeps, u, v, p, dt, dx, dy, rho, nu):
    """Navier-Stokes in a box with a lid that moves at speed 1, by explicit steps and a relaxed pressure."""
    b = np.zeros_like(u)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        divergence(b, rho, dt, u, v, dx, dy)
        for _ in range(sweeps):
            pn = p.copy()
            p[1:-1, 1:-1] = relaxed(p, pn, b, dx, dy)
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0.0
        advance(u, v, un, vn, p, dt, dx, dy, rho, nu, 0.0)
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0


def wrapped(a):
    """a with its last column before the first, and its first after the last: periodic along the channel."""
    return np.concatenate((a[:, -1:], a, a[:, :1]), axis=1)


def channel_flow(sweeps, u, v, p, dt, dx, dy, rho, nu, force, tolerance):
    """Navier and Stokes along a periodic channel, pushed by a force, until the flow is steady; the steps taken."""
    change = 1.0
    steps = 0
    while change > tolerance:
        un, vn = u.copy(), v.copy()
        uw, vw = wrapped(un), wrapped(vn)
        b = np.zeros_like(uw)
        divergence(b, rho, dt, uw, vw, dx, dy)
        for _ in range(sweeps):
            pw = wrapped(p)
            p[1:-1, :] = relaxed(p, pw, b, dx, dy)
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        new_u, new_v = uw.copy(), vw.copy()
        advance(new_u, new_v, uw, vw, wrapped(p), dt, dx, dy, rho, nu, force)
        u[1:-1, :] = new_u[1:-1, 1:-1]
        v[1:-1, :] = new_v[1:-1, 1:-1]
        u[0, :] = 0.0
        u[-1, :] = 0.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return steps


def crc16(data):
    """The checksum of CCITT (polynomial 0x1021, reversed), of bytes."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
    crc = ~crc & 0xFFFF
    return (crc << 8 & 0xFF00) | (crc >> 8 & 0xFF)


def nussinov(sequence):
    """The table of Nussinov's algorithm: the most pairs of bases that a fold of each part has. (n, n) integers."""
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
                if i < j - 1:
                    pairs = 1 if sequence[i] + sequence[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def distances(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    """No two paths of one length: the diagonal is positive too."""
    return (random.uniform(1.0, 9.0, size=(n, n)),)


def square(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (random.uniform(size=(n, n)),)


def bodies(random: np.random.Generator, n: int, steps: int) -> tuple[Any, ...]:
    mass = 20.0 * np.ones((n, 1)) / n
    return mass, random.normal(size=(n, 3)), random.normal(size=(n, 3)), steps, 0.01, 1.0, 0.1


def cavity(random: np.random.Generator, n: int, m: int, steps: int, sweeps: int) -> tuple[Any, ...]:
    fields = (0.01 * random.normal(size=(n, m)) for _ in range(3))
    return steps, sweeps, *fields, 0.1 / ((n - 1) * (m - 1)), 2.0 / (m - 1), 2.0 / (n - 1), 1.0, 0.1


def channel(random: np.random.Generator, n: int, m: int, sweeps: int) -> tuple[Any, ...]:
    u = 0.5 + 0.01 * random.normal(size=(n, m))
    v, p = (0.01 * random.normal(size=(n, m)) for _ in range(2))
    return sweeps, u, v, p, 0.01, 2.0 / (m - 1), 2.0 / (n - 1), 1.0, 0.1, 1.0, 0.01


def bytes_of(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (random.integers(0, 256, n).astype(np.uint8),)


def bases(random: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (random.integers(0, 4, n),)


PROGRAMS = [
    Program(floyd_warshall, distances, (8,), (200,), (400,)),
    Program(go_fast, square, (6,), (2000,), (6000,)),
    Program(nbody, bodies, (5, 3), (25, 100), (50, 250)),
    Program(cavity_flow, cavity, (8, 9, 3, 3), (61, 61, 25, 5), (121, 121, 50, 10)),
    Program(channel_flow, channel, (7, 8, 3), (61, 61, 5), (121, 121, 10)),
]
INTEGERS = [
    Program(crc16, bytes_of, (20,), (1600,), (16_000,)),
    Program(nussinov, bases, (12,), (60,), (90,)),
]
