"""A turbulent flow in the plane by Fourier transforms, and the flow that it began as, found from a later picture.

In a periodic flow without inflow (Navier-Stokes equations), the vorticity is carried along by its own velocity field,
and diffuses. In Fourier space derivatives are products (a pseudospectral method, products de-aliased by the 2/3 rule);
viscosity is integrated exactly, the rest by a Runge-Kutta method of second order. The gradient of the distance to a
later picture runs backwards through the steps, in complex arithmetic.

    python examples/spectral_flow.py
"""

import sys

import numpy as np
from pictures.png import save

import mlirad

SIZE, STEPS, STEP, VISCOSITY = 32, 40, 0.02, 2e-3
WAVES = np.fft.fftfreq(SIZE, 1 / SIZE)
KX, KY = np.meshgrid(WAVES, np.fft.rfftfreq(SIZE, 1 / SIZE), indexing="ij")
SQUARES = KX**2 + KY**2
LAPLACE = np.where(SQUARES == 0, 1.0, SQUARES)
KEPT = np.where((np.abs(KX) < SIZE / 3) & (KY < SIZE / 3), 1.0, 0.0)


def advection(spectrum):
    """Minus velocity times gradient, of the spectrum of a vorticity."""
    stream = spectrum / LAPLACE
    u, v = np.fft.irfft2(1j * KY * stream), np.fft.irfft2(-1j * KX * stream)
    slope_x, slope_y = np.fft.irfft2(1j * KX * spectrum), np.fft.irfft2(1j * KY * spectrum)
    return -KEPT * np.fft.rfft2(u * slope_x + v * slope_y)


def flow(vorticity, viscosity):
    """The vorticity after STEPS steps."""
    spectrum = np.fft.rfft2(vorticity)
    damping = np.exp(-viscosity * SQUARES * STEP)
    for _ in range(STEPS):
        first = advection(spectrum)
        guess = damping * (spectrum + STEP * first)
        spectrum = damping * (spectrum + 0.5 * STEP * first) + 0.5 * STEP * advection(guess)
    return np.fft.irfft2(spectrum)


def loss(vorticity, seen):
    """The mean squared distance between what a flow becomes and a picture."""
    return np.mean((flow(vorticity, VISCOSITY) - seen) ** 2)


def main():
    y, x = np.meshgrid(*[2 * np.pi * np.arange(SIZE) / SIZE] * 2)
    vortex = 2 * np.cos(x) * np.cos(y)
    decayed = mlirad.jit(flow)(vortex, VISCOSITY)
    exact = vortex * np.exp(-2 * VISCOSITY * STEP * STEPS)
    print(f"a Taylor-Green vortex against its formula: {np.max(np.abs(decayed - exact)):.1e}")

    rng = np.random.default_rng(2)
    noise = np.fft.rfft2(rng.normal(size=(SIZE, SIZE)))
    wanted = np.fft.irfft2(noise * np.exp(-SQUARES / 18))
    wanted *= 1.5 / np.std(wanted)
    seen = mlirad.jit(flow)(wanted, VISCOSITY)
    value_and_grad = mlirad.value_and_grad(loss)
    found = seen.copy()
    first = value_and_grad(found, seen)[0]
    value, velocity = first, np.zeros_like(found)
    for _ in range(100):
        value, gradient = value_and_grad(found, seen)
        velocity = 0.7 * velocity - 0.1 * SIZE**2 * gradient
        found += velocity
    before, error = (np.linalg.norm(each - wanted) / np.linalg.norm(wanted) for each in (seen, found))
    print(f"squared distance {first:.1e} before, {value:.1e} after; the beginning off by {error:.1e} ({before:.1e})")
    shown = [each / 10 + 0.5 for each in (wanted, seen, found)]
    gap = np.ones((SIZE, 2))
    save("spectral_flow.png", np.concatenate([shown[0], gap, shown[1], gap, shown[2]], axis=1), scale=6)

    way = rng.normal(size=wanted.shape)
    slope = (loss(found + 1e-6 * way, seen) - loss(found - 1e-6 * way, seen)) / 2e-6
    off = abs(np.sum(value_and_grad(found, seen)[1] * way) / slope - 1)
    print(f"gradient against differences {off:.1e}")
    return 0 if np.max(np.abs(decayed - exact)) < 1e-10 and off < 1e-5 and error < 0.1 * before else 1


if __name__ == "__main__":
    sys.exit(main())
