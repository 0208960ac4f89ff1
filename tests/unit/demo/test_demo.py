"""The demo: its gradient by hand is right, mlirad's is the same, and the network learns."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad.demo import (
    REQUIRED_ACCURACY,
    Contender,
    Digits,
    initial_parameters,
    largest_difference,
    loss,
    network,
    numpy_gradient,
    run,
    train,
)
from mlirad.pipeline import write_stages


@pytest.fixture(scope="module")
def digits() -> Digits:
    return Digits.load()


@pytest.fixture
def sample(digits: Digits):
    return initial_parameters(np.random.default_rng(1)), digits.images[:24], digits.labels[:24]


def test_data_are_the_1797_images_without_overlap(digits: Digits) -> None:
    assert len(digits.images) + len(digits.test_images) == 1797
    rows = np.concatenate([digits.images, digits.test_images])
    assert len(np.unique(rows, axis=0)) == 1797
    assert rows.min() == 0.0
    assert rows.max() == 1.0
    assert np.array_equal(digits.labels.sum(axis=1), np.ones(len(digits.images)))


def test_loss_is_the_cross_entropy(sample) -> None:
    params, images, labels = sample
    logits = network(params, images)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1)[:, None]
    assert loss(params, images, labels) == pytest.approx(-np.mean(np.log(probabilities[labels == 1.0])), rel=1e-12)


def test_gradient_by_hand_equals_central_differences(sample) -> None:
    params, images, labels = sample
    value, grads = numpy_gradient(params, images, labels)
    assert value == pytest.approx(loss(params, images, labels), rel=1e-14)
    rng, h = np.random.default_rng(2), 1e-5
    for layer in range(3):
        for part in range(2):
            direction = rng.normal(size=params[layer][part].shape)

            def moved(t, layer=layer, part=part, direction=direction):
                leaves = [list(pair) for pair in params]
                leaves[layer][part] = leaves[layer][part] + t * direction
                return loss(leaves, images, labels)

            estimate = (moved(h) - moved(-h)) / (2.0 * h)
            assert np.sum(grads[layer][part] * direction) == pytest.approx(estimate, rel=1e-6)


def test_compiled_gradient_equals_the_one_by_hand(sample) -> None:
    value, grads = mlirad.value_and_grad(loss)(*sample)
    expected_value, expected = numpy_gradient(*sample)
    assert value == pytest.approx(expected_value, rel=1e-12)
    assert largest_difference(expected, grads) < 1e-12


def test_a_wrong_gradient_is_noticed(digits: Digits) -> None:
    def wrong(params, images, labels):
        value, grads = numpy_gradient(params, images, labels)
        return value, (*grads[:2], (grads[2][0], grads[2][1] + 1e-6))

    contenders = [Contender("right", numpy_gradient), Contender("wrong", wrong)]
    train(digits, contenders, 1, io.StringIO())
    assert contenders[1].difference == pytest.approx(1e-6, rel=1e-3)


def test_the_whole_demo(tmp_path: Path) -> None:
    out = io.StringIO()
    assert run(tmp_path / "dumps", 12, out) == 0
    told = out.getvalue()
    accuracy = float(told.split("test accuracy: ")[1].split("%")[0]) / 100.0
    assert accuracy >= REQUIRED_ACCURACY
    assert "NumPy, by hand" in told
    assert sorted(path.name for path in (tmp_path / "dumps").iterdir())[0] == "00-tensor.mlir"


def test_one_dump_for_each_stage(tmp_path: Path, sample) -> None:
    lowered = mlirad.grad(loss).lower(*sample)
    paths = write_stages(lowered.module.clone(), lowered.target, tmp_path)
    assert [path.suffix for path in paths[-4:]] == [".mlir", ".ll", ".ll", ".s"]
    assert len(paths) == len(lowered.stages) == len(list(tmp_path.iterdir()))
    assert all(path.read_text().strip() for path in paths)
