"""Upstream's arith on vectors, as extended: valid ops verify, and invalid ones do not."""

from __future__ import annotations

import pytest
from run_loops import parse
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import VectorType, f64, i1
from xdsl.utils.exceptions import VerifyException


def function(argument: str, line: str) -> str:
    return f"func.func @f(%v: {argument}) {{\n  {line}\n  func.return\n}}"


@pytest.mark.parametrize(
    "line",
    [
        "%r = arith.trunci %v : vector<4xi32> to vector<4xi64>",
        "%r = arith.extsi %v : vector<4xi32> to vector<4xi32>",
        "%r = arith.extui %v : vector<4xi32> to vector<8xi64>",
        "%r = arith.extsi %v : vector<4xi32> to i64",
    ],
)
def test_a_cast_of_the_wrong_width_or_shape_is_refused(line: str) -> None:
    with pytest.raises(VerifyException):
        parse(function("vector<4xi32>", line))


def test_a_cast_of_floats_to_floats_is_refused() -> None:
    with pytest.raises(VerifyException):
        parse(function("vector<4xf32>", "%r = arith.fptosi %v : vector<4xf32> to vector<4xf64>"))


def test_a_comparison_built_in_python_has_a_vector_of_bools() -> None:
    wide, narrow = test.TestOp(result_types=[VectorType(f64, [4])]), test.TestOp(result_types=[f64])
    mask: object = arith.CmpfOp(wide.results[0], wide.results[0], "ogt").result.type
    flag: object = arith.CmpfOp(narrow.results[0], narrow.results[0], "ogt").result.type
    assert (mask, flag) == (VectorType(i1, [4]), i1)
