"""First tries of people who process signals."""

import numpy as np

from first_tries.program import collection

PROGRAMS, program = collection()


@program(lambda rng: (rng.normal(size=100), np.array([0.2, 0.3, 0.5])), wrt=(0, 1))
def fir_filter(x, taps):
    y = np.zeros(len(x))
    for n in range(len(x)):
        for k in range(len(taps)):
            if n - k >= 0:
                y[n] += taps[k] * x[n - k]
    return np.sum(y**2)


@program(lambda rng: (rng.normal(size=80), 0.9), wrt=(0, 1))
def exponential_smoothing(x, a):
    s = [x[0]]
    for v in x[1:]:
        s.append(a * s[-1] + (1 - a) * v)
    return np.array(s)


@program(lambda rng: (rng.normal(size=64), np.array([1.0, -0.5]), np.array([0.2, 0.1])), wrt=(0, 1, 2))
def biquad(x, a, b):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i, xi in enumerate(x):
        yi = xi + b[0] * x1 + b[1] * x2 - 0.3 * a[0] * y1 - 0.3 * a[1] * y2
        x2, x1 = x1, xi
        y2, y1 = y1, yi
        y[i] = yi
    return y.std()


@program(lambda rng: (rng.normal(size=64),), wrt=0)
def power_spectrum(x):
    w = np.hanning(len(x))
    X = np.fft.rfft(x * w)
    return np.sum(np.abs(X) ** 2)


@program(lambda rng: (rng.normal(size=60), rng.normal(size=60)), wrt=(0, 1))
def dynamic_time_warping(s, t):
    n, m = len(s), len(t)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(s[i - 1] - t[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@program(lambda rng: (rng.normal(size=128), 8), wrt=0)
def moving_average(x, width):
    c = np.cumsum(np.insert(x, 0, 0))
    return np.max((c[width:] - c[:-width]) / width)


@program(lambda rng: (rng.normal(size=200), 0.05), wrt=(0, 1))
def lms_equalizer(d, mu):
    w = np.zeros(4)
    err = 0.0
    for n in range(4, len(d)):
        u = d[n - 4 : n][::-1]
        e = d[n] - w @ u
        w = w + mu * e * u
        err += e**2
    return err / len(d)


@program(lambda rng: (rng.integers(0, 256, (16, 16)).astype(np.uint8),))
def brighten(img):
    out = np.clip(img * 1.3 + 10, 0, 255).astype(np.uint8)
    return out


@program(lambda rng: (rng.normal(size=(16, 16)),), wrt=0)
def total_variation(img):
    dx = img[:, 1:] - img[:, :-1]
    dy = img[1:, :] - img[:-1, :]
    return np.abs(dx).sum() + np.abs(dy).sum()


@program(lambda rng: (np.linspace(0, 1, 200), 5.0, 0.3), wrt=(1, 2))
def chirp_energy(t, f0, damping):
    phase = 2 * np.pi * f0 * t**2
    sig = np.sin(phase) * np.exp(-damping * t)
    return np.sqrt(np.mean(sig**2))


@program(lambda rng: (rng.normal(size=100),))
def zero_crossings(x):
    return np.sum(np.diff(np.sign(x)) != 0)


@program(lambda rng: (rng.normal(size=50), 0.5))
def find_peaks(x, threshold):
    peaks = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > threshold:
            peaks.append(i)
    return len(peaks)
