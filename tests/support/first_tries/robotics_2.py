"""First tries of more people who move robots."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.linalg import inv, norm
from scipy.linalg import block_diag

from first_tries.program import collection

PROGRAMS, program = collection()

# a, alpha, d of each joint
DH = [(0.0, np.pi / 2, 0.4), (0.6, 0.0, 0.0), (0.2, -np.pi / 2, 0.1)]
LANDMARKS = np.array([[2.0, 1.0], [-1.0, 3.0], [4.0, -2.0], [0.5, 5.0]])
GRAVITY = 9.81


def dh_matrix(theta, a, alpha, d):
    ct, st = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


@program(lambda rng: (rng.uniform(-1, 1, 3),), wrt=0)
def dh_end_effector(q):
    T = np.eye(4)
    for angle, (a, alpha, d) in zip(q, DH):
        T = T @ dh_matrix(angle, a, alpha, d)
    return T[:3, 3]


class Pose2D:
    def __init__(self, x, y, theta):
        self.x = x
        self.y = y
        self.theta = theta

    def __matmul__(self, other):
        c, s = math.cos(self.theta), math.sin(self.theta)
        return Pose2D(
            self.x + c * other.x - s * other.y,
            self.y + s * other.x + c * other.y,
            self.theta + other.theta,
        )

    def inverse(self):
        c, s = math.cos(self.theta), math.sin(self.theta)
        return Pose2D(-c * self.x - s * self.y, s * self.x - c * self.y, -self.theta)

    def as_array(self):
        return np.array([self.x, self.y, self.theta])


@program(lambda rng: ([(1.0, 0.1, 0.2), (0.9, 0.0, 0.5), (1.1, -0.2, 0.4)], (2.0, 1.5, 1.0)), wrt=(0, 1))
def odometry_drift(steps, measured):
    pose = Pose2D(0.0, 0.0, 0.0)
    for s in steps:
        pose = pose @ Pose2D(*s)
    error = pose.inverse() @ Pose2D(*measured)
    return norm(error.as_array())


@program(lambda rng: (rng.normal(size=(50, 2)), rng.uniform(0.1, 1, 50), 0.37))
def systematic_resampling(particles, weights, u):
    N = len(weights)
    weights = weights / weights.sum()
    positions = (np.arange(N) + u) / N
    cumulative = np.cumsum(weights)
    indexes = np.zeros(N, dtype=int)
    i, j = 0, 0
    while i < N:
        if positions[i] < cumulative[j]:
            indexes[i] = j
            i += 1
        else:
            j += 1
    return particles[indexes].mean(axis=0), 1.0 / np.sum(weights**2)


def bresenham(x0, y0, x1, y1):
    cells = []
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx = 1 if x0 < x1 else -1
    sy = 1 if y0 < y1 else -1
    err = dx + dy
    while True:
        cells.append((x0, y0))
        if x0 == x1 and y0 == y1:
            return cells
        e2 = 2 * err
        if e2 >= dy:
            err += dy
            x0 += sx
        if e2 <= dx:
            err += dx
            y0 += sy


@program(lambda rng: (rng.uniform(2, 9, 24), 0.85, 0.4), wrt=(1, 2))
def occupancy_grid(ranges, l_occ, l_free):
    log_odds = np.zeros((21, 21))
    angles = np.linspace(0, 2 * np.pi, len(ranges), endpoint=False)
    for r, a in zip(ranges, angles):
        ex, ey = int(round(10 + r * np.cos(a))), int(round(10 + r * np.sin(a)))  # noqa: RUF046
        ray = bresenham(10, 10, ex, ey)
        for x, y in ray[:-1]:
            log_odds[y, x] -= l_free
        log_odds[ey, ex] += l_occ
    return 1 - 1 / (1 + np.exp(log_odds))


@dataclass
class EKF:
    x: np.ndarray
    P: np.ndarray
    Q: np.ndarray = field(default_factory=lambda: np.diag([0.01, 0.01, 0.001]))
    R: np.ndarray = field(default_factory=lambda: np.diag([0.1, 0.02]))

    def predict(self, v, w, dt):
        th = self.x[2]
        self.x = self.x + dt * np.array([v * np.cos(th), v * np.sin(th), w])
        F = np.array([[1, 0, -v * dt * np.sin(th)], [0, 1, v * dt * np.cos(th)], [0, 0, 1]])
        self.P = F @ self.P @ F.T + self.Q

    def correct(self, z, landmark):
        dx, dy = landmark - self.x[:2]
        q = dx**2 + dy**2
        expected = np.array([np.sqrt(q), np.arctan2(dy, dx) - self.x[2]])
        H = np.array([[-dx / np.sqrt(q), -dy / np.sqrt(q), 0], [dy / q, -dx / q, -1]])
        innovation = z - expected
        innovation[1] = (innovation[1] + np.pi) % (2 * np.pi) - np.pi
        K = self.P @ H.T @ inv(H @ self.P @ H.T + self.R)
        self.x = self.x + K @ innovation
        self.P = (np.eye(3) - K @ H) @ self.P


@program(lambda rng: (np.array([0.1, -0.1, 0.05]), rng.uniform(1, 5, (4, 2))), wrt=(0, 1))
def ekf_localization(start, observations):
    ekf = EKF(start, 0.1 * np.eye(3))
    for z, lm in zip(observations, LANDMARKS):
        ekf.predict(1.0, 0.1, 0.5)
        ekf.correct(z, lm)
    return ekf.x, np.trace(ekf.P)


@program(lambda rng: ((rng.random((10, 10)) < 0.2).astype(int), (0, 0), (9, 9)))
def astar(grid, start, goal):
    def h(cell):
        return abs(cell[0] - goal[0]) + abs(cell[1] - goal[1])

    grid[start] = grid[goal] = 0
    frontier = [(h(start), 0, start)]
    cost = {start: 0}
    while frontier:
        _, g, (r, c) = heapq.heappop(frontier)
        if (r, c) == goal:
            return g
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            n = (r + dr, c + dc)
            if not (0 <= n[0] < grid.shape[0] and 0 <= n[1] < grid.shape[1]) or grid[n]:
                continue
            if g + 1 < cost.get(n, 10**9):
                cost[n] = g + 1
                heapq.heappush(frontier, (g + 1 + h(n), g + 1, n))
    return -1


def de_casteljau(points, t):
    if len(points) == 1:
        return points[0]
    return de_casteljau((1 - t) * points[:-1] + t * points[1:], t)


@program(lambda rng: (rng.normal(size=(5, 2)),), wrt=0)
def bezier_length(control):
    curve = np.array([de_casteljau(control, t) for t in np.linspace(0, 1, 30)])
    return np.sum(np.hypot(*np.diff(curve, axis=0).T))


@program(lambda rng: (0.1, np.array([1.0, 0.1]), 0.05), wrt=(0, 1, 2))
def lqr_gain(dt, q_diag, r):
    A = np.array([[1.0, dt], [0.0, 1.0]])
    B = np.array([[0.5 * dt**2], [dt]])
    Q = np.diag(q_diag)
    R = np.array([[r]])
    P = Q
    for k in range(500):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        Pn = Q + A.T @ P @ (A - B @ K)
        if np.allclose(Pn, P, rtol=1e-10, atol=1e-12):
            break
        P = Pn
    else:
        raise ValueError("Riccati iteration did not converge")
    return K.ravel()


def wrap(angle):
    return np.arctan2(np.sin(angle), np.cos(angle))


def relative(a, b):
    c, s = np.cos(a[2]), np.sin(a[2])
    R = np.array([[c, s], [-s, c]])
    return np.hstack([R @ (b[:2] - a[:2]), wrap(b[2] - a[2])])


@program(
    lambda rng: (
        rng.normal(size=(4, 3)),
        [
            (0, 1, np.array([1.0, 0.0, 0.5]), 1.0),
            (1, 2, np.array([1.0, 0.1, 0.4]), 1.0),
            (2, 3, np.array([0.9, 0.0, 0.6]), 1.0),
            (3, 0, np.array([1.0, 0.5, 0.3]), 0.5),
        ],
    ),
    wrt=(0, 1),
)
def pose_graph_error(poses, edges):
    info = block_diag(np.eye(2) * 10, 50.0)
    chi2 = 0
    for i, j, z, weight in edges:
        e = relative(poses[i], poses[j]) - z
        e[2] = wrap(e[2])
        chi2 += weight * (e @ info @ e)
    return chi2


@program(lambda rng: (np.array([0.2, -0.1]), np.array([5.0, 4.0]), [(2.5, 0.6, 0.5), (2.2, 3.6, 0.6)]), wrt=(0, 1, 2))
def potential_field_path(position, goal, obstacles, gain=0.4, reach=1.5):
    path = [position]
    for _ in range(60):
        force = gain * (goal - position)
        for ox, oy, radius in obstacles:
            away = position - np.array([ox, oy])
            dist = norm(away) - radius
            if dist > reach:
                continue
            force = force + (1 / dist - 1 / reach) / dist**2 * away / norm(away)
        if norm(force) > 1:
            force = force / norm(force)
        position = position + 0.1 * force
        path.append(position)
        if norm(goal - position) < 0.1:
            break
    path = np.vstack(path)
    return norm(path[1:] - path[:-1], axis=1).sum(), position


@program(lambda rng: (rng.normal(size=(12, 3)), rng.normal(size=(12, 3))), wrt=(0, 1))
def kabsch(P, Q):
    """Best rotation of P onto Q and the rms distance left."""
    p = P - P.mean(0)
    q = Q - Q.mean(0)
    U, _, Vt = np.linalg.svd(p.T @ q)
    d = np.sign(np.linalg.det(Vt.T @ U.T))
    R = Vt.T @ np.diag([1, 1, d]) @ U.T
    rmsd = np.sqrt(np.mean(np.sum((p @ R.T - q) ** 2, axis=1)))
    return R, rmsd


def rk4(f, x, u, dt):
    k1 = f(x, u)
    k2 = f(x + dt / 2 * k1, u)
    k3 = f(x + dt / 2 * k2, u)
    k4 = f(x + dt * k3, u)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def make_cartpole(mc: float, mp: float, length: float):
    def dynamics(x, u):
        _, th, dx, dth = x
        s, c = np.sin(th), np.cos(th)
        ddx = (u + mp * s * (length * dth**2 + GRAVITY * c)) / (mc + mp * s**2)
        ddth = (-u * c - mp * length * dth**2 * c * s - (mc + mp) * GRAVITY * s) / (length * (mc + mp * s**2))
        return np.array([dx, dth, ddx, ddth])

    return dynamics


@program(lambda rng: (1.0, 0.2, 0.5, rng.normal(size=30)), wrt=(0, 1, 2, 3))
def cartpole_cost(mc: float, mp: float, length: float, controls: np.ndarray) -> float:
    f = make_cartpole(mc, mp, length)
    x = np.array([0.0, 0.1, 0.0, 0.0])
    cost = 0.0
    for u in controls:
        x = rk4(f, x, u, 0.05)
        cost += 0.05 * (x[0] ** 2 + 10 * (1 + np.cos(x[1])) + 0.01 * u**2)
    return cost + 100 * (x[1] - np.pi) ** 2
