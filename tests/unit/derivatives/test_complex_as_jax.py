"""Derivatives of complex functions are JAX's, where it is installed; docs/verification/complex-as-jax.md has all."""

from __future__ import annotations

from pathlib import Path

import complex_as_jax
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "verification" / "complex-as-jax.md").read_text()


@pytest.mark.parametrize("name", ["z ** (1 + 1j)", "real, imag", "abs", "where", "rfft, irfft"])
def test_the_convention_is_jax_s(name: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    found = complex_as_jax.differences(name)
    assert max(found.values()) < 1e-12, found


def test_the_page_has_all_functions_and_small_numbers_only() -> None:
    rows = {cells[1].strip(" `"): cells[2:-1] for line in PAGE.splitlines() if len(cells := line.split("|")) == 9}
    assert set(rows) - {"function", "---"} - {"---"} == set(complex_as_jax.FUNCTIONS)
    cells = [cell for name, row in rows.items() if name in complex_as_jax.FUNCTIONS for cell in row if cell.strip()]
    assert len(cells) > 5 * len(complex_as_jax.FUNCTIONS)
    assert all(float(cell) < 1e-12 for cell in cells)
