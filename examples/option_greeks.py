"""Greeks of options by Monte Carlo: gradients of a mean price over random paths, through NumPy's generator.

The options are a call on the last price of a stock, and one on the geometric mean of its prices. Both have formulas
(Black and Scholes 1973; Kemna and Vorst 1990), and the derivatives of these are the Greeks. The kernel draws from a
generator that it takes as an argument, and one call computes the price and all Greeks from the same paths.

    python examples/option_greeks.py
"""

import math
import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import progress

import mlirad

STRIKE, YEARS, STEPS = 100.0, 1.0, 12
PARTS, PATHS = 32, 8_000
NAMES = "delta", "vega", "rho"


def prices(market, rng, n):
    """The mean discounted payoffs of both options over n paths; market: the price now, volatility, interest."""
    spot, sigma, rate = market[0], market[1], market[2]
    step = YEARS / STEPS
    price = np.full(n, spot)
    logarithms = np.zeros(n)
    for _ in range(STEPS):
        price *= np.exp((rate - 0.5 * sigma**2) * step + rng.normal(0.0, sigma * np.sqrt(step), n))
        logarithms += np.log(price)
    discount = np.exp(-rate * YEARS)
    last = np.mean(np.maximum(price - STRIKE, 0.0))
    mean = np.mean(np.maximum(np.exp(logarithms / STEPS) - STRIKE, 0.0))
    return discount * last, discount * mean


def call_of_last(market, rng, n):
    return prices(market, rng, n)[0]


def call_of_mean(market, rng, n):
    return prices(market, rng, n)[1]


def normal_below(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def formula_of_last(market):
    spot, sigma, rate = market[0], market[1], market[2]
    return lognormal_call(math.log(spot) + (rate - 0.5 * sigma**2) * YEARS, sigma**2 * YEARS, rate)


def formula_of_mean(market):
    """The geometric mean of lognormal prices is lognormal."""
    spot, sigma, rate = market[0], market[1], market[2]
    mean_time = YEARS * (STEPS + 1) / (2 * STEPS)
    variance = sigma**2 * YEARS * (STEPS + 1) * (2 * STEPS + 1) / (6 * STEPS**2)
    return lognormal_call(math.log(spot) + (rate - 0.5 * sigma**2) * mean_time, variance, rate)


def lognormal_call(mean, variance, rate):
    deviation = math.sqrt(variance)
    d = (mean - math.log(STRIKE)) / deviation
    expected = math.exp(mean + 0.5 * variance) * normal_below(d + deviation) - STRIKE * normal_below(d)
    return math.exp(-rate * YEARS) * expected


def estimated(kernel, market, rng):
    """The means of value and Greeks over parts, and their standard errors."""
    found = np.array([[value, *greeks] for value, greeks in (kernel(market, rng, PATHS) for _ in range(PARTS))])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(PARTS)


def main():
    rng = np.random.default_rng(7)
    market = np.array([105.0, 0.25, 0.03])
    worst = 0.0
    for sampled, formula in ((call_of_last, formula_of_last), (call_of_mean, formula_of_mean)):
        means, errors = estimated(mlirad.value_and_grad(sampled), market, rng)
        value, greeks = mlirad.value_and_grad(formula)(market)
        print(f"{sampled.__name__}: {PARTS * PATHS} paths of {STEPS} steps")
        for name, mean, error, exact in zip(("price", *NAMES), means, errors, (value, *greeks), strict=True):
            print(f"  {name:5} {mean:9.4f} +- {error:.4f}   formula {exact:9.4f}")
            worst = max(worst, abs(mean - exact) / error)

    spots = np.linspace(70.0, 140.0, 15)
    slopes, curves = mlirad.value_and_grad(call_of_last), mlirad.grad(formula_of_last)
    points = [estimated(slopes, np.array([spot, *market[1:]]), rng) for spot in progress(spots, "deltas")]
    fine = np.linspace(70.0, 140.0, 200)
    deltas = np.array([curves(np.array([spot, *market[1:]]))[0] for spot in fine])
    bars = [
        ((0.8, 0.1, 0.1), np.array([spot, spot]), means[1] + 20.0 * errors[1] * np.array([-1.0, 1.0]))
        for spot, (means, errors) in zip(spots, points, strict=True)
    ]
    save("option_greeks.png", drawn([((0.1, 0.2, 0.7), fine, deltas), *bars]), scale=2)

    # Self-check: the formulas within the errors, and the numbers that the plain function draws.
    plain, compiled = np.random.default_rng(1), np.random.default_rng(1)
    same = np.allclose(mlirad.jit(prices)(market, compiled, 1000), prices(market, plain, 1000), rtol=1e-12)
    same = same and plain.bit_generator.state == compiled.bit_generator.state
    print(f"off from the formulas by {worst:.1f} standard errors at most; the plain function's paths: {same}")
    return 0 if worst < 4.0 and same else 1


if __name__ == "__main__":
    sys.exit(main())
