"""Phase retrieval: a complex image found from intensities alone, as detectors in optics see them.

A wave passes an object that damps and delays it: a complex image. In the far field only |F(u)|**2 can be measured; the
phase is lost. With the object behind several known masks ("coded diffraction"), gradient descent finds the image. The
complex gradient is du/dx - i du/dy, so a step goes along its conjugate (Candes, Li and Soltanolkotabi, "Phase retrieval
via Wirtinger flow", 2015).

    python examples/phase_retrieval.py
"""

import sys

import numpy as np
from pictures.png import save

import mlirad

SIZE, MASKS, STEPS, RATE = 48, 6, 400, 0.4


def scene():
    """Amplitudes and phases of an object: a ring that damps, and a lens that delays."""
    y, x = (np.mgrid[:SIZE, :SIZE] - SIZE / 2) / (SIZE / 2)
    radius = np.hypot(x, y)
    amplitude = 0.3 + 0.7 * (np.abs(radius - 0.6) < 0.15) + 0.5 * (np.hypot(x - 0.1, y + 0.15) < 0.2)
    return amplitude * np.exp(1.5j * np.exp(-4 * ((x + 0.2) ** 2 + y**2)) + 0.8j * x * y)


def intensities(image, masks):
    """What detectors see of the image behind each mask, shape (masks, SIZE, SIZE)."""
    return np.abs(np.fft.fft2(masks * image, norm="ortho")) ** 2


def loss(image, masks, seen):
    """The squared error of the amplitudes, a mean over pixels."""
    return np.sum((np.abs(np.fft.fft2(masks * image, norm="ortho")) - np.sqrt(seen)) ** 2) / MASKS


def aligned(image, wanted):
    """The image times the one phase that nothing can tell: that in which it is nearest to the wanted one."""
    overlap = np.vdot(image, wanted)
    return image * (overlap / np.abs(overlap))


def main():
    rng = np.random.default_rng(4)
    wanted = scene()
    masks = np.exp(2j * np.pi * rng.random((MASKS, SIZE, SIZE)))
    seen = intensities(wanted, masks)
    value_and_grad = mlirad.value_and_grad(loss)
    image = np.ones((SIZE, SIZE), complex)
    first = value_and_grad(image, masks, seen)[0]
    value, velocity = first, np.zeros_like(image)
    for _ in range(STEPS):
        value, gradient = value_and_grad(image, masks, seen)
        velocity = 0.8 * velocity - RATE * np.conj(gradient)
        image += velocity
    found = aligned(image, wanted)
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    print(f"squared error of amplitudes {first:.1e} before, {value:.1e} after {STEPS} steps; image off by {error:.1e}")
    shown = [wanted, found]
    amplitudes = [np.abs(each) / 1.6 for each in shown]
    phases = [np.angle(each) / (2 * np.pi) + 0.5 for each in shown]
    gap = np.ones((SIZE, 2))
    start = np.clip(np.log10(1 + seen[0]) / 2, 0, 1)
    wide = [start, gap, amplitudes[0], gap, amplitudes[1], gap, phases[0], gap, phases[1]]
    save("phase_retrieval.png", np.concatenate(wide, axis=1), scale=4)

    # Self-check: the gradient agrees with the difference quotient along a complex direction, and the image is right.
    way, at = rng.normal(size=image.shape) + 1j * rng.normal(size=image.shape), wanted + 0.3
    slope = (loss(at + 1e-6 * way, masks, seen) - loss(at - 1e-6 * way, masks, seen)) / 2e-6
    exact = np.sum(mlirad.grad(loss)(at, masks, seen) * way).real
    print(f"gradient against differences {abs(exact / slope - 1):.1e}")
    return 0 if abs(exact / slope - 1) < 1e-6 and error < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
