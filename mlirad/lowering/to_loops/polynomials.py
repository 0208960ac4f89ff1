"""Coefficients and constants of the vector functions; `tests/support/minimax.py` computes them, and a test compares.

Reads: nothing. Writes: nothing. Leaves: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Polynomials, lowest coefficient first, and constants as sums of numbers of the type.

    exp: (e^r - 1 - r) / r^2 for |r| <= ln2/2. sin, cos: (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4, polynomials of
    r^2 for |r| <= pi/4. log: (log((1+s)/(1-s)) - 2s) / s^3, a polynomial of s^2 for |s| <= (sqrt2-1)/(sqrt2+1).
    The first part of `ln2_short` ends in so many zero bits that its product with an exponent is exact.
    """

    exp: tuple[float, ...]
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    log: tuple[float, ...]
    ln2: tuple[float, ...]
    ln2_short: tuple[float, ...]
    half_pi: tuple[float, ...]
    log2_e: tuple[float, ...]
    two_over_pi: tuple[float, ...]


TABLES: dict[int, Table] = {
    64: Table(
        exp=(
            0.5,
            0.1666666666666667,
            0.04166666666666667,
            0.008333333333326025,
            0.001388888888888367,
            0.00019841269875205077,
            2.4801587325822283e-05,
            2.75572549134867e-06,
            2.7557273295539724e-07,
            2.5105419192016337e-08,
            2.091483135138041e-09,
        ),
        sin=(
            -0.16666666666666666,
            0.0083333333333307,
            -0.00019841269836385435,
            2.7557315910939e-06,
            -2.5051092308431318e-08,
            1.5915309183057952e-10,
        ),
        cos=(
            0.041666666666666664,
            -0.0013888888888887241,
            2.480158729853226e-05,
            -2.7557317151858866e-07,
            2.0876121534608454e-09,
            -1.1380868171449914e-11,
        ),
        log=(
            0.666666666666667,
            0.3999999999989924,
            0.2857142862609589,
            0.2222221111514416,
            0.18182890556695602,
            0.1533167403016786,
            0.1461703754879165,
        ),
        ln2=(
            0.6931471805599453,
            2.3190468138462996e-17,
        ),
        ln2_short=(
            0.6931471805598903,
            5.497923018708371e-14,
        ),
        half_pi=(
            1.5707963267948966,
            6.123233995736766e-17,
            -1.4973849048591698e-33,
        ),
        log2_e=(1.4426950408889634,),
        two_over_pi=(0.6366197723675814,),
    ),
    32: Table(
        exp=(
            0.5,
            0.1666666716337204,
            0.041666463017463684,
            0.00833331048488617,
            0.0013933820882812142,
            0.00019891180272679776,
        ),
        sin=(
            -0.166666641831398,
            0.008332724682986736,
            -0.00019582831009756774,
        ),
        cos=(
            0.0416666641831398,
            -0.0013888279208913445,
            2.4542870960431173e-05,
        ),
        log=(
            0.6666666865348816,
            0.4000012278556824,
            0.28550803661346436,
            0.23330964148044586,
        ),
        ln2=(
            0.6931471824645996,
            -1.9046542121259336e-09,
        ),
        ln2_short=(
            0.693145751953125,
            1.428606765330187e-06,
        ),
        half_pi=(
            1.5707963705062866,
            -4.371138828673793e-08,
            -1.7151245100058819e-15,
        ),
        log2_e=(1.4426950216293335,),
        two_over_pi=(0.6366197466850281,),
    ),
}
"""By the bits of the type."""
