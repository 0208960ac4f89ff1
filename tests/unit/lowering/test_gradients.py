"""Gradients of small programs with loops, after clean-up, lowering and fusion of the differentiator's code."""

from __future__ import annotations

from collections.abc import Callable

import loop_programs
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from mlirad import pipeline
from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
from mlirad.testing import linalg_interpreter
from mlirad.testing.expr_functions import ask_vjp
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

PROGRAMS = loop_programs.programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_keeps_its_value_down_to_linalg(name: str, mlir_opt: Callable[..., str]) -> None:
    program = PROGRAMS[name]
    module = ModuleOp([])
    gradient = ask_vjp(module, "gradient", program.define(module), range(len(program.arguments)))
    gradient.sym_visibility = StringAttr("public")
    pipeline.differentiate(module)
    arguments = [*program.arguments, np.float64(1)]
    expected = run(module, "gradient", *arguments)
    pipeline.optimize(module)
    module.verify()
    verify_dominance(module)
    for want, got in zip(expected, run(module, "gradient", *arguments), strict=True):
        assert np.asarray(want).tobytes() == np.asarray(got).tobytes()
    NdToLinalg().apply(Context(), module)
    module.verify()
    verify_dominance(module)
    for want, got in zip(expected, linalg_interpreter.run(module, "gradient", *arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    mlir_opt(str(module))
