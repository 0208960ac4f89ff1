"""First tries of more people who simulate physics."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.special import jv

from first_tries.program import collection

PROGRAMS, program = collection()

MU0_4PI = 1e-7
G_EARTH = np.array([0.0, 0.0, -9.81])

GASES = {
    "CO2": {"a": 0.3640, "b": 4.267e-5},
    "N2": {"a": 0.1370, "b": 3.87e-5},
}


@program(lambda rng: (1.3, 0.4, 1.0), wrt=(0, 1, 2))
def kepler_position(M, ecc, a):
    """Position of a planet with mean anomaly M."""
    if not 0 <= ecc < 1:
        raise ValueError(f"not an ellipse: e = {ecc}")
    E = M if ecc < 0.8 else np.pi
    while True:
        dE = (E - ecc * np.sin(E) - M) / (1 - ecc * np.cos(E))
        E -= dE
        if abs(dE) < 1e-12:
            break
    return a * np.array([np.cos(E) - ecc, np.sqrt(1 - ecc**2) * np.sin(E)])


class SpringChain:
    def __init__(self, n, k, m):
        self.k = k
        self.m = m
        self.x = np.zeros(n)
        self.v = np.zeros(n)

    def force(self):
        f = np.zeros_like(self.x)
        stretch = np.diff(self.x)
        f[:-1] += self.k * stretch
        f[1:] -= self.k * stretch
        f[0] -= self.k * self.x[0]
        return f

    def step(self, dt):
        self.v += dt * self.force() / self.m
        self.x += dt * self.v

    def energy(self):
        return 0.5 * self.m * np.sum(self.v**2) + 0.5 * self.k * np.sum(np.diff(self.x) ** 2)


@program(lambda rng: (3.0, 0.7, 0.5), wrt=(0, 1, 2))
def spring_chain_energy(k, m, kick):
    chain = SpringChain(8, k, m)
    chain.v[-1] = kick
    for _ in range(100):
        chain.step(0.02)
    return chain.energy()


@program(lambda rng: (np.exp(-(((np.linspace(0, 1, 50) - 0.4) / 0.1) ** 2)), 0.9, 40), wrt=(0, 1))
def plucked_string(u0, courant, nsteps=40):
    prev = u0.copy()
    cur = u0.copy()
    history = [cur]
    for _ in range(nsteps):
        nxt = np.zeros_like(cur)
        nxt[1:-1] = 2 * cur[1:-1] - prev[1:-1] + courant**2 * (cur[2:] - 2 * cur[1:-1] + cur[:-2])
        prev, cur = cur, nxt
        history.append(cur)
    history = np.stack(history)
    return history[:, 25].max() - history[:, 25].min()


@program(lambda rng: (rng.normal(size=12) * 0.3, 1.0), wrt=(0, 1))
def tight_binding_gap(onsite, hopping):
    n = len(onsite)
    H = np.diag(onsite) - hopping * (np.eye(n, k=1) + np.eye(n, k=-1))
    H[0, -1] = H[-1, 0] = -hopping
    levels = np.linalg.eigvalsh(H)
    return levels[n // 2] - levels[n // 2 - 1]


@program(lambda rng: ([(1.0, 1.5, 0.02), (1.5, 1.33, -0.03), (1.33, 1.0, -0.015)], 1.2, 4.0), wrt=(0, 1))
def trace_ray(surfaces, height, gap):
    """Ray through a stack of surfaces given as (index before, index after, curvature)."""
    y, angle = height, 0.0
    for n1, n2, curvature in surfaces:
        normal = math.asin(y * curvature)
        s = n1 / n2 * math.sin(angle + normal)
        if abs(s) > 1:
            return float("inf")  # total reflection
        angle = math.asin(s) - normal
        y += gap * math.tan(angle)
    return -y / math.tan(angle)


@program(lambda rng: (np.array([0.5, 0.2, 0.05]), np.array([1.0, 0.0, 0.0, 0.0]), 3.0), wrt=(0, 1, 2))
def decay_chain(rates, n0, t):
    A = np.zeros((len(n0), len(n0)))
    for i, r in enumerate(rates):
        A[i, i] -= r
        A[i + 1, i] += r
    return expm(A * t) @ n0


@program(lambda rng: (300.0, 1.0, 2e-3), wrt=(0, 1, 2))
def van_der_waals_pressures(T, n, V):
    R = 8.314
    out = {}
    for name, p in GASES.items():
        out[name] = n * R * T / (V - n * p["b"]) - p["a"] * n**2 / V**2
    return out["CO2"] / out["N2"], sum(out.values())


@program(lambda rng: (np.linspace(-0.05, 0.05, 41), 6, 2.0), wrt=(0, 2))
def grating_intensity(angles, slits, d_over_lambda):
    phase = 2j * np.pi * d_over_lambda * np.sin(angles)[:, None] * np.arange(slits)[None, :]
    field = np.exp(phase).sum(axis=1) / slits
    return np.abs(field) ** 2


@dataclass
class Ion:
    pos: np.ndarray
    vel: np.ndarray
    charge: float = 1.0
    mass: float = 1.0


@program(lambda rng: (0.6, 1.5), wrt=(0, 1))
def scattering_angle(impact_parameter: float, speed: float) -> float:
    ion = Ion(pos=np.array([-6.0, impact_parameter]), vel=np.array([speed, 0.0]))

    def acceleration(p):
        r = np.linalg.norm(p)
        return ion.charge * p / (ion.mass * r**3)

    dt = 0.02
    acc = acceleration(ion.pos)
    steps = 0
    while np.linalg.norm(ion.pos) < 7.0 and steps < 1000:
        ion.pos = ion.pos + dt * ion.vel + 0.5 * dt**2 * acc
        new = acceleration(ion.pos)
        ion.vel = ion.vel + 0.5 * dt * (acc + new)
        acc = new
        steps += 1
    return math.atan2(ion.vel[1], ion.vel[0])


@program(lambda rng: (0.1, np.array([0.02, 0.01, 0.05]), 2.0), wrt=(0, 1, 2))
def biot_savart_loop(radius, point, current):
    phi = np.linspace(0, 2 * np.pi, 61)
    wire = radius * np.column_stack((np.cos(phi), np.sin(phi), np.zeros_like(phi)))
    dl = wire[1:] - wire[:-1]
    mid = (wire[1:] + wire[:-1]) / 2
    r = point - mid
    dist = np.linalg.norm(r, axis=1, keepdims=True)
    B = MU0_4PI * current * np.cross(dl, r) / dist**3
    return B.sum(axis=0) * 1e6


@program(lambda rng: (rng.integers(0, 7, (7, 7)),))
def sandpile(grid):
    grid = grid.copy()
    topplings = 0
    while (grid >= 4).any():
        for i, j in np.argwhere(grid >= 4):
            grid[i, j] -= 4
            topplings += 1
            for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                a, b = i + di, j + dj
                if 0 <= a < grid.shape[0] and 0 <= b < grid.shape[1]:
                    grid[a, b] += 1
    return topplings, grid


Mode = namedtuple("Mode", "m zero amplitude")
MODES = [Mode(0, 2.4048, 1.0), Mode(1, 3.8317, 0.4), Mode(2, 5.1356, 0.1)]


@program(lambda rng: (rng.uniform(0, 1, 20), rng.uniform(0, 2 * np.pi, 20), 0.3), wrt=(0, 1, 2))
def drum_membrane(r, phi, t):
    u = 0
    for mode in MODES:
        u += mode.amplitude * jv(mode.m, mode.zero * r) * np.cos(mode.m * phi) * np.cos(mode.zero * t)
    return np.mean(u**2)
