"""First tries of physicists."""

import math
from dataclasses import dataclass

import numpy as np

from first_tries.program import collection

PROGRAMS, program = collection()

G = 6.674e-11
HBAR = 1.0


@program(
    lambda rng: (rng.normal(size=(4, 3)), rng.normal(size=(4, 3)) * 0.1, np.array([1.0, 0.5, 0.25, 0.1])), wrt=(0, 1)
)
def n_body_energy_after(positions, velocities, masses):
    dt, steps = 0.01, 50
    pos, vel = positions.copy(), velocities.copy()
    for _ in range(steps):
        acc = np.zeros_like(pos)
        for i in range(len(masses)):
            for j in range(len(masses)):
                if i != j:
                    r = pos[j] - pos[i]
                    acc[i] += masses[j] * r / (np.linalg.norm(r) ** 3 + 0.05)
        vel += dt * acc
        pos += dt * vel
    kinetic = 0.5 * np.sum(masses * np.sum(vel**2, axis=1))
    return kinetic


@program(lambda rng: (np.array([0.1, 0.0]), 2.0), wrt=(0, 1))
def double_well_trajectory(state, damping):
    history = [state]
    x = state
    for k in range(100):
        a = x[0] - x[0] ** 3 - damping * x[1]
        x = x + 0.05 * np.array([x[1], a])
        history.append(x)
    return np.array(history)[:, 0].sum()


@program(lambda rng: (np.sin(np.linspace(0, np.pi, 64)), 0.1), wrt=(0, 1))
def heat_equation(u0, alpha):
    u = u0
    dx = 1 / (len(u0) - 1)
    dt = 0.4 * dx**2 / 0.1
    for n in range(200):
        un = u.copy()
        un[1:-1] = u[1:-1] + alpha * dt / dx**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = un
    return np.trapezoid(u, dx=dx)


@program(lambda rng: (np.where(rng.random((8, 8)) > 0.5, 1, -1), 0.44))
def ising_energy(spins, coupling):
    right = np.roll(spins, -1, axis=1)
    down = np.roll(spins, -1, axis=0)
    return -coupling * np.sum(spins * (right + down))


@program(lambda rng: (10000, np.random.default_rng(1)))
def monte_carlo_pi(n, rng):
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


@program(lambda rng: (1.2, 9.81), wrt=(0, 1))
def pendulum_period(theta0, g):
    # arithmetic-geometric mean
    a, b = 1.0, math.cos(theta0 / 2)
    while abs(a - b) > 1e-14:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return 2 * math.pi * math.sqrt(1 / g) / a


@dataclass
class Particle:
    x: np.ndarray
    v: np.ndarray
    mass: float


@program(lambda rng: (Particle(np.zeros(2), np.array([3.0, 8.0]), 0.5), 0.2), wrt=1)
def projectile_range(p, drag):
    while p.x[1] >= 0:
        speed = np.hypot(p.v[0], p.v[1])
        a = np.array([0.0, -9.81]) - drag / p.mass * speed * p.v
        p.v = p.v + 0.01 * a
        p.x = p.x + 0.01 * p.v
    return p.x[0]


@program(lambda rng: (np.linspace(-5, 5, 50),), wrt=0)
def ground_state_energy(v_grid):
    n = len(v_grid)
    h = 0.2
    H = np.diag(1 / h**2 + 0.5 * v_grid**2)
    H += np.diag(-0.5 / h**2 * np.ones(n - 1), 1) + np.diag(-0.5 / h**2 * np.ones(n - 1), -1)
    psi = np.ones(n) / np.sqrt(n)
    for _ in range(30):
        psi = np.linalg.solve(H, psi)
        psi /= np.linalg.norm(psi)
    return psi @ H @ psi


@program(lambda rng: (rng.normal(size=(20, 3)),), wrt=0)
def lennard_jones(r):
    energy = 0.0
    n = r.shape[0]
    for i in range(n - 1):
        d = r[i + 1 :] - r[i]
        d2 = np.sum(d * d, axis=1) + 0.5
        inv6 = 1.0 / d2**3
        energy += np.sum(4 * (inv6**2 - inv6))
    return energy


@program(lambda rng: (np.array([1.0, 1.0, 1.0]), 10.0, 28.0, 8 / 3), wrt=(0, 1, 2, 3))
def lorenz_rk4(y, sigma, rho, beta):
    def f(y):
        x, yy, z = y
        return np.array([sigma * (yy - x), x * (rho - z) - yy, x * yy - beta * z])

    dt = 0.01
    for i in range(100):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda rng: (np.linspace(0.1, 3, 40), 5800.0), wrt=1)
def planck_peak(wavelength_um, T):
    lam = wavelength_um * 1e-6
    h, c, k = 6.626e-34, 2.998e8, 1.381e-23
    B = 2 * h * c**2 / lam**5 / np.expm1(h * c / (lam * k * T))
    return np.sum(B) * 1e-13


@program(lambda rng: (np.zeros((12, 12)), 1.0), wrt=1)
def laplace_relaxation(phi, top):
    phi = phi.copy()
    phi[0, :] = top
    err, it = 1.0, 0
    while err > 1e-3 and it < 500:
        old = phi.copy()
        phi[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        err = np.max(np.abs(phi - old))
        it += 1
    return phi[6, 6]
