"""First tries of roboticists."""

import numpy as np
from numpy import cos, pi, sin

from first_tries.program import collection

PROGRAMS, program = collection()


def rot(theta):
    return np.array([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


@program(lambda rng: (np.array([0.3, -0.5, 0.8]), [1.0, 0.8, 0.4]), wrt=0)
def forward_kinematics(q, lengths):
    T = np.eye(3)
    for angle, l in zip(q, lengths):
        A = np.eye(3)
        A[:2, :2] = rot(angle)
        A[:2, 2] = rot(angle) @ np.array([l, 0])
        T = T @ A
    return T[:2, 2]


@program(lambda rng: (rng.normal(size=3), rng.normal(size=3)), wrt=(0, 1))
def rodrigues(w, v):
    theta = np.linalg.norm(w)
    if theta < 1e-8:
        return v + np.cross(w, v)
    k = w / theta
    return v * cos(theta) + np.cross(k, v) * sin(theta) + k * np.dot(k, v) * (1 - cos(theta))


@program(lambda rng: (np.array([1.0, 0.2, -0.1, 0.3]), np.array([0.5, 0.1, 0.7, -0.2])), wrt=(0, 1))
def quaternion_product(q, p):
    w0, x0, y0, z0 = q
    w1, x1, y1, z1 = p
    return np.array(
        [
            w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
            w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
            w0 * y1 - x0 * z1 + y0 * w1 + z0 * x1,
            w0 * z1 + x0 * y1 - y0 * x1 + z0 * w1,
        ]
    )


@program(lambda rng: (np.zeros(3), rng.normal(size=(40, 2)) * 0.3), wrt=(0, 1))
def unicycle_rollout(state, controls):
    x, y, th = state
    cost = 0.0
    for v, w in controls:
        x += 0.1 * v * np.cos(th)
        y += 0.1 * v * np.sin(th)
        th += 0.1 * w
        th = (th + np.pi) % (2 * np.pi) - np.pi
        cost += (x - 1) ** 2 + (y - 1) ** 2 + 0.01 * (v**2 + w**2)
    return cost


@program(lambda rng: (np.array([0.0, 1.0]), np.eye(2), rng.normal(size=30)), wrt=2)
def kalman_filter(x, P, measurements):
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q, R = 0.01 * np.eye(2), np.array([[0.1]])
    nll = 0.0
    for z in measurements:
        x = F @ x
        P = F @ P @ F.T + Q
        innovation = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ innovation
        P = (np.eye(2) - K @ H) @ P
        nll += float(innovation @ innovation) / S[0, 0] + np.log(S[0, 0])
    return nll


@program(lambda rng: (np.array([0.1, 0.2]), np.array([0.0, 0.0]), 1.5), wrt=(0, 2))
def two_link_simulation(q, dq, torque):
    for i in range(60):
        M = np.array([[3 + 2 * cos(q[1]), 1 + cos(q[1])], [1 + cos(q[1]), 1.0]])
        h = -sin(q[1])
        c = np.array([h * dq[1] * (2 * dq[0] + dq[1]), -h * dq[0] ** 2])
        ddq = np.linalg.solve(M, np.array([torque, 0.0]) - c)
        dq = dq + 0.01 * ddq
        q = q + 0.01 * dq
    return q[0] ** 2 + q[1] ** 2


@program(lambda rng: (np.cumsum(rng.normal(size=(20, 2)), axis=0), np.array([[1.0, 1.0], [-2.0, 0.5]])), wrt=0)
def trajectory_cost(path, obstacles):
    smooth = np.sum(np.diff(path, axis=0) ** 2)
    collision = 0
    for o in obstacles:
        d = np.sqrt(((path - o) ** 2).sum(axis=1))
        collision += np.sum(np.maximum(0, 0.8 - d) ** 2)
    return smooth + 10 * collision


@program(lambda rng: (0.6, -0.4, 0.2), wrt=(0, 1, 2))
def euler_to_matrix_trace(roll, pitch, yaw):
    Rx = np.array([[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]])
    Ry = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    Rz = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    R = Rz @ Ry @ Rx
    return np.trace(R)


class PID:
    def __init__(self, kp, ki, kd):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.integral = 0.0
        self.previous = 0.0

    def update(self, error, dt):
        self.integral += error * dt
        derivative = (error - self.previous) / dt
        self.previous = error
        return self.kp * error + self.ki * self.integral + self.kd * derivative


@program(lambda rng: (2.0, 0.5, 0.1), wrt=(0, 1, 2))
def pid_step_response(kp, ki, kd):
    pid = PID(kp, ki, kd)
    y, v, cost = 0.0, 0.0, 0.0
    for _ in range(100):
        u = pid.update(1.0 - y, 0.02)
        v += 0.02 * (u - v)
        y += 0.02 * v
        cost += (1 - y) ** 2
    return cost


@program(lambda rng: (rng.normal(size=(5, 5)),))
def wavefront_distance(cost_map):
    grid = np.full((5, 5), np.inf)
    grid[0, 0] = 0
    queue = [(0, 0)]
    while queue:
        i, j = queue.pop(0)
        for di, dj in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            a, b = i + di, j + dj
            if 0 <= a < 5 and 0 <= b < 5 and grid[a, b] > grid[i, j] + 1:
                grid[a, b] = grid[i, j] + 1
                queue.append((a, b))
    return grid


@program(lambda rng: (rng.normal(size=(30, 3)), rng.normal(size=3), np.array([0.1, 0.2, 0.3])), wrt=(1, 2))
def point_cloud_alignment(points, w, t):
    R = np.eye(3) + skew(w) + 0.5 * skew(w) @ skew(w)
    moved = points @ R.T + t
    residual = moved - points
    return 0.5 * np.sum(residual**2)


@program(lambda rng: (np.array([0.0, pi / 2]), 1e-6, 50), wrt=0)
def inverse_kinematics_newton(target, tol, max_iter):
    q = np.array([0.3, 0.4])
    for it in range(max_iter):
        f = np.array([cos(q[0]) + cos(q[0] + q[1]), sin(q[0]) + sin(q[0] + q[1])]) - 0.5 * target - np.array([0.5, 0.5])
        if np.linalg.norm(f) < tol:
            break
        J = np.array(
            [
                [-sin(q[0]) - sin(q[0] + q[1]), -sin(q[0] + q[1])],
                [cos(q[0]) + cos(q[0] + q[1]), cos(q[0] + q[1])],
            ]
        )
        det = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
        Jinv = np.array([[J[1, 1], -J[0, 1]], [-J[1, 0], J[0, 0]]]) / det
        q = q - Jinv @ f
    return q
