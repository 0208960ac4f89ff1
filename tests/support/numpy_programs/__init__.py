"""Whole programs in plain NumPy, written from their mathematics, each a function that is its own oracle."""

from __future__ import annotations

from numpy_programs import factorizations, networks, products, science, stencils

PROGRAMS = [
    *stencils.PROGRAMS,
    *products.PROGRAMS,
    *factorizations.PROGRAMS,
    *science.PROGRAMS,
    *networks.PROGRAMS,
]
INTEGERS = science.INTEGERS
