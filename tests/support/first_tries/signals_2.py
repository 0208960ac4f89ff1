"""First tries of more people who process signals and images."""

import cmath
import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import toeplitz

from first_tries.program import collection

PROGRAMS, program = collection()

FS = 8000
DTMF_LOW = (697, 770, 852, 941)
DTMF_HIGH = (1209, 1336, 1477)
KEYPAD = ["123", "456", "789", "*0#"]
SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
SOBEL_Y = SOBEL_X.T
JPEG_Q = 1 + np.add.outer(np.arange(8), np.arange(8)) * 2.5


def goertzel(samples, freq):
    coeff = 2 * math.cos(2 * math.pi * freq / FS)
    s1 = s2 = 0.0
    for x in samples:
        s1, s2 = x + coeff * s1 - s2, s1
    return s1**2 + s2**2 - coeff * s1 * s2


@program(lambda rng: (np.sin(2 * np.pi * 770 * np.arange(200) / FS) + np.sin(2 * np.pi * 1336 * np.arange(200) / FS),))
def dtmf_key(samples):
    low = [goertzel(samples, f) for f in DTMF_LOW]
    high = [goertzel(samples, f) for f in DTMF_HIGH]
    row = max(range(4), key=lambda i: low[i])
    col = max(range(3), key=lambda i: high[i])
    return KEYPAD[row][col]


@program(lambda rng: (rng.integers(0, 256, (14, 18), dtype=np.uint8), 200))
def sobel_edges(img, threshold):
    h, w = img.shape
    out = np.zeros((h, w), dtype=np.uint8)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            patch = img[i - 1 : i + 2, j - 1 : j + 2].astype(int)
            gx = (patch * SOBEL_X).sum()
            gy = (patch * SOBEL_Y).sum()
            if abs(gx) + abs(gy) > threshold:
                out[i, j] = 255
    return out


@program(lambda rng: (rng.integers(60, 140, (20, 20)).astype(np.uint8),))
def equalize_histogram(img):
    hist = np.bincount(img.ravel(), minlength=256)
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0][0]
    lut = np.round((cdf - cdf_min) / (img.size - cdf_min) * 255).clip(0, 255).astype(np.uint8)
    return lut[img]


@program(lambda rng: (rng.normal(size=120), 6), wrt=0)
def linear_prediction(x, order):
    # Levinson-Durbin
    r = np.array([np.dot(x[: len(x) - k], x[k:]) for k in range(order + 1)])
    a = np.zeros(order + 1)
    a[0] = 1.0
    e = r[0]
    for i in range(1, order + 1):
        k = -np.dot(a[:i], r[i:0:-1]) / e
        a[1 : i + 1] += k * a[i - 1 :: -1][:i]
        e *= 1 - k * k
    assert e > 0
    return a, e


def haar_step(x):
    return (x[::2] + x[1::2]) / math.sqrt(2), (x[::2] - x[1::2]) / math.sqrt(2)


def haar_unstep(approx, detail):
    out = np.empty(2 * len(approx))
    out[::2] = (approx + detail) / math.sqrt(2)
    out[1::2] = (approx - detail) / math.sqrt(2)
    return out


@program(lambda rng: (np.sin(np.linspace(0, 6, 64)) + 0.1 * rng.normal(size=64), 0.15), wrt=(0, 1))
def wavelet_denoise(signal, thr):
    details = []
    a = signal
    while len(a) > 4:
        a, d = haar_step(a)
        details.append(np.sign(d) * np.maximum(np.abs(d) - thr, 0))
    for d in reversed(details):
        a = haar_unstep(a, d)
    return a


@program(
    lambda rng: (
        np.where(rng.random((20, 20)) < 0.4, 70, 180).astype(np.uint8) + rng.integers(0, 30, (20, 20), dtype=np.uint8),
    )
)
def otsu_threshold(gray: np.ndarray) -> int:
    hist, _ = np.histogram(gray, bins=256, range=(0, 256))
    total = gray.size
    sum_all = np.dot(np.arange(256), hist)
    best_t, best_var = 0, -1.0
    w0 = 0
    sum0 = 0.0
    for t in range(256):
        w0 += hist[t]
        if w0 == 0:
            continue
        w1 = total - w0
        if w1 == 0:
            break
        sum0 += t * hist[t]
        m0, m1 = sum0 / w0, (sum_all - sum0) / w1
        var = w0 * w1 * (m0 - m1) ** 2
        if var > best_var:
            best_t, best_var = t, var
    return best_t


def parabolic(y, i):
    denom = y[i - 1] - 2 * y[i] + y[i + 1]
    return i + 0.5 * (y[i - 1] - y[i + 1]) / denom


@program(
    lambda rng: (np.sin(2 * np.pi * 220 * np.arange(256) / 8000) + 0.05 * rng.normal(size=256), 8000.0), wrt=(0, 1)
)
def pitch_autocorrelation(frame, fs=FS, fmin=80, fmax=500):
    frame = frame - frame.mean()
    if np.max(np.abs(frame)) < 1e-3:
        return 0.0  # silence
    ac = np.correlate(frame, frame, mode="full")[len(frame) - 1 :]
    ac /= ac[0]
    lo, hi = int(fs / fmax), int(fs / fmin)
    lag = lo + np.argmax(ac[lo:hi])
    if ac[lag] < 0.3:
        return 0.0
    return fs / parabolic(ac, lag)


def fft_radix2(x):
    n = len(x)
    if n == 1:
        return x
    if n % 2:
        raise ValueError("length must be a power of 2")
    even = fft_radix2(x[0::2])
    odd = fft_radix2(x[1::2])
    tw = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
    return [even[k] + tw[k] for k in range(n // 2)] + [even[k] - tw[k] for k in range(n // 2)]


@program(lambda rng: (rng.normal(size=16).tolist(),), wrt=0)
def recursive_fft_flatness(x):
    spectrum = fft_radix2([complex(v) for v in x])
    mags = [abs(c) ** 2 for c in spectrum[: len(x) // 2 + 1]]
    geometric = math.exp(sum(math.log(m) for m in mags) / len(mags))
    return geometric / (sum(mags) / len(mags))


class CompressorSettings(NamedTuple):
    threshold_db: float = -20.0
    ratio: float = 4.0
    attack: float = 0.3
    release: float = 0.05


@program(lambda rng: (rng.normal(size=150) * np.linspace(0.02, 0.8, 150), CompressorSettings(-18.0)), wrt=(0, 1))
def dynamic_range_compressor(audio, settings):
    """Feed-forward compressor with separate attack and release."""
    envelope = 0.0
    out = np.empty_like(audio)
    for i in range(audio.size):
        level = abs(audio[i])
        coef = settings.attack if level > envelope else settings.release
        envelope += coef * (level - envelope)
        level_db = 20 * np.log10(envelope + 1e-9)
        over = max(level_db - settings.threshold_db, 0.0)
        gain_db = -over * (1 - 1 / settings.ratio)
        out[i] = audio[i] * 10 ** (gain_db / 20)
    return out


@program(lambda rng: (np.repeat(rng.integers(0, 4, 15), rng.integers(1, 6, 15)).astype(np.uint8),))
def run_length(pixels):
    runs = []
    for p in pixels:
        if runs and runs[-1][0] == p and runs[-1][1] < 255:
            runs[-1] = (p, runs[-1][1] + 1)
        else:
            runs.append((p, 1))
    decoded = np.concatenate([np.full(n, v) for v, n in runs])
    assert (decoded == pixels).all(), f"lost {np.count_nonzero(decoded != pixels)} pixels"
    return len(runs) / len(pixels)


@program(lambda rng: (rng.uniform(0, 255, (8, 8)).astype(np.float32),))
def jpeg_block(block):
    n = np.arange(8)
    C = np.sqrt(2 / 8) * np.cos(np.pi * (2 * n[None, :] + 1) * n[:, None] / 16)
    C[0] /= np.sqrt(2)
    coef = np.round(C @ (block - 128) @ C.T / JPEG_Q)
    back = C.T @ (coef * JPEG_Q) @ C + 128
    mse = ((np.clip(back, 0, 255) - block) ** 2).mean()
    return 10 * np.log10(255**2 / mse), int((coef != 0).sum())


@program(lambda rng: (rng.normal(size=(90,)), np.r_[0.0, 0.0, rng.normal(size=88)], 5, 1e-2), wrt=(0, 1, 3))
def wiener_filter(reference, noisy, taps, reg):
    n = len(reference)
    rxx = np.correlate(noisy, noisy, "full")[n - 1 : n - 1 + taps] / n
    rxd = np.correlate(reference, noisy, "full")[n - 1 : n - 1 + taps] / n
    w = np.linalg.solve(toeplitz(rxx) + reg * np.identity(taps), rxd)
    estimate = np.convolve(noisy, w)[:n]
    return w, np.mean((reference - estimate) ** 2)
