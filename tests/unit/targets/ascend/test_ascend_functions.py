"""Every elementwise function that the Ascend target takes, and its gradient, against the cpu target."""

from __future__ import annotations

from typing import Any

import ascend_corpus
import numpy as np
import pytest
from ascend_corpus import BANDS, PROGRAMS, SUBJECTS, Program, Subject

import mlirad

IN_CI = ("np.exp2", "np.tan", "np.modf", "np.fmod")


def test_there_are_enough() -> None:
    assert len([each for each in SUBJECTS if each.has_gradient]) > 60


@pytest.mark.parametrize(("dtype", "band"), BANDS.items())
@pytest.mark.parametrize("subject", [each for each in SUBJECTS if each.name in IN_CI], ids=lambda each: each.name)
def test_a_function_and_its_gradient(subject: Subject, dtype: Any, band: float) -> None:
    assert subject.errors(33, dtype).are_within(band)


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), BANDS.items())
@pytest.mark.parametrize("subject", [*SUBJECTS, *PROGRAMS], ids=lambda each: each.name)
def test_the_corpus_at_every_size(subject: Subject | Program, dtype: Any, band: float) -> None:
    assert ascend_corpus.measured(subject, dtype).are_within(band)


def test_what_is_apart() -> None:
    one = np.float32([1, 2, np.inf])
    assert ascend_corpus.apart(one, np.float32([1, 2.002, 3e38]), 0.0) == pytest.approx(0.134, 0.01)
    assert ascend_corpus.apart(one, np.float32([1, 2.002, np.inf]), 0.0) == pytest.approx(1e-3, 0.01)
    assert ascend_corpus.apart(one, np.float32([1, 2, np.nan])) == np.inf
    assert ascend_corpus.apart(one, one.astype(np.float64)) == np.inf


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), [(np.float32, 1e-5), (np.float16, 2e-3)])
def test_a_logistic_regression_has_the_loss_curve_of_the_cpu(dtype: Any, band: float) -> None:
    """On scikit-learn's breast-cancer data: 569 rows of 30 features."""
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    x = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(dtype)
    y = data.target.astype(dtype)

    def loss(w: np.ndarray, b: Any, x: np.ndarray, y: np.ndarray) -> Any:
        z = x @ w + b
        return np.mean(np.logaddexp(np.zeros_like(z), z) - y * z)

    def curve(dtype: Any, **options: Any) -> list[float]:
        step = mlirad.value_and_grad(loss, argnums=(0, 1), **options)
        w, b, found = np.zeros(30, dtype), dtype(0), []
        for _ in range(40):
            value, (d_w, d_b) = step(w, b, x.astype(dtype), y.astype(dtype))
            w, b = w - d_w, dtype(b - d_b)
            found.append(float(value))
        return found

    found, expected = curve(dtype, target="ascend"), curve(np.float32)
    assert found[-1] < 0.15 * found[0]
    np.testing.assert_allclose(found, expected, band, band)
