"""The module that the check has lowered is compiled: nothing is lowered to kernels twice."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad
from mlirad.targets.ascend.kernels.kernel_outlining import AscendKernels
from mlirad.targets.ascend.legal import problems


def test_a_checked_module_is_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = []
    apply = AscendKernels.apply
    monkeypatch.setattr(AscendKernels, "apply", lambda self, ctx, op: lowered.append(apply(self, ctx, op)))
    kernel = mlirad.grad(lambda x: np.sum(np.tanh(x)), target="ascend")
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    shared = kernel.lower(x)
    texts = {stage: shared.as_text(stage, locations=True) for stage in shared.stages}
    assert len(lowered) == 1
    monkeypatch.setattr(problems, "finish_checked", lambda _: False)
    again = kernel.lower(x)
    assert {stage: again.as_text(stage, locations=True) for stage in again.stages} == texts
    assert len(lowered) == 3
