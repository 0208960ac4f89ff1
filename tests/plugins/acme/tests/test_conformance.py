"""Acme's own tests: what mlirad asks of every target, and the op that is Acme's."""

import numpy as np
from acme_npu import clip6

import mlirad
from mlirad.testing import target_suite

TestAcme = target_suite("acme", model="large")


def test_clip6_is_an_op_of_acme():
    x = np.array([-1.0, 0.5, 5.0, 7.0])
    kernel = mlirad.jit(lambda x: np.sum(x * clip6(x)), target="acme")
    assert "acme.clip6" in kernel.lower(x).as_text("acme")
    assert kernel(x) == np.sum(x * clip6(x))
    np.testing.assert_allclose(mlirad.grad(kernel)(x), [0.0, 1.0, 10.0, 6.0])
    np.testing.assert_allclose(mlirad.hvp(kernel, (x,), (np.ones(4),))[0], [0.0, 2.0, 2.0, 0.0])
    assert "acme" not in mlirad.jit(lambda x: np.sum(x * clip6(x))).lower(x).as_text("optimized")
