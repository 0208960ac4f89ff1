"""The ad dialect: it prints, parses back, and verifies; dominance is checked."""

from __future__ import annotations

import numpy as np
import pytest
from expanded import context, parsed
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.ad.ad_types import ResidualsType
from mlirad.dialect.ad.tape import TapeOp
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

REQUESTS = """builtin.module {
  func.func private @f(%x: f64, %n: i64) -> f64 {
    %y = nd.sin %x : f64
    func.return %y : f64
  }
  func.func @g(%x: f64, %n: i64, %u: f64) -> (f64, f64, !ad.residuals<@f wrt [0] outs [0]>) {
    %y, %dx = ad.vjp @f(%x, %n)(%u) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
    %z, %dz = ad.jvp @f(%x, %n)(%u) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
    %w, %r = ad.forward @f(%x, %n)() wrt [0] outs [0] : (f64, i64)() -> (f64, !ad.residuals<@f wrt [0] outs [0]>)
    %dw = ad.pullback @f(%r)(%u) wrt [0] outs [0] : (!ad.residuals<@f wrt [0] outs [0]>)(f64) -> (f64)
    func.return %dz, %dw, %r : f64, f64, !ad.residuals<@f wrt [0] outs [0]>
  }
}"""

MARKERS = """builtin.module {
  func.func @f(%x: f64, %n: i64) -> f64 {
    ad.record 3 %x, %n : f64, i64
    %outer = ad.replay 2
    %trip = ad.replay 3 trip %n in %outer
    %same = ad.residual %trip 0 : f64
    %u = ad.turn %same : (f64) -> f64
    %tape = ad.tape %n : tensor<?xf64>
    %fixed = ad.tape : tensor<4xi1>
    %longer = ad.grow %tape, %n : tensor<?xf64>
    func.return %u : f64
  }
}"""


@pytest.mark.parametrize("text", [REQUESTS, MARKERS])
def test_the_text_is_what_was_written(text: str) -> None:
    module = parsed(text)
    verify_dominance(module)
    assert str(module) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ad.vjp @f(", "ad.vjp @h(", "there is no function @h"),
        ("(%u) wrt [0] outs [0] : (f64, i64)(f64)", "(%n) wrt [0] outs [0] : (f64, i64)(i64)", "second operands"),
        ("wrt [0] outs [0] : (f64, i64)(f64)", "wrt [0] outs [1] : (f64, i64)(f64)", r"outs \[1\] of 1"),
        ("wrt [0] outs [0] : (f64, i64)(f64)", "wrt [0, 0] outs [0] : (f64, i64)(f64)", r"wrt \[0, 0\] of 2"),
        ("-> (f64, f64)\n    %z", "-> (f64, i64)\n    %z", "the results should be"),
    ],
)
def test_a_request_that_does_not_fit_its_callee_is_refused(old: str, new: str, message: str) -> None:
    assert REQUESTS.count(old) >= 1
    with pytest.raises(VerifyException, match=message):
        parsed(REQUESTS.replace(old, new, 1))


def test_residuals_types_are_equal_by_callee_wrt_and_outs() -> None:
    assert ResidualsType.of("f", [0, 1], [0]) == ResidualsType.of("f", [0, 1], [0])
    assert ResidualsType.of("f", [0, 1], [0]) != ResidualsType.of("f", [1, 0], [0])


def test_dominance_is_checked() -> None:
    """Cases that xDSL's own verifier accepts: a use before the definition, and a use outside of its region."""
    module = parsed("""
      func.func @f(%x: f64, %c: i1) -> (f64, f64) {
        %y = nd.sin %x : f64
        %z = scf.if %c -> (f64) {
          %inside = nd.cos %x : f64
          scf.yield %inside : f64
        } else {
          scf.yield %y : f64
        }
        func.return %y, %z : f64, f64
      }""")
    for use in (0, 1):
        copy = module.clone()
        sine, conditional, end = next(iter(copy.ops)).regions[0].block.ops
        verify_dominance(copy)
        if use:
            sine.operands = [conditional.results[0]]
        else:
            end.operands = [end.operands[0], conditional.regions[0].block.first_op.results[0]]
        copy.verify()
        with pytest.raises(VerifyException, match="not visible"):
            verify_dominance(copy)


def test_tapes_double_and_begin_undefined() -> None:
    module = parsed("""
      func.func @f(%n: i64, %k: i64) -> (tensor<?xf64>, tensor<?xf64>) {
        %tape = ad.tape %n : tensor<?xf64>
        %longer = ad.grow %tape, %k : tensor<?xf64>
        func.return %tape, %longer : tensor<?xf64>, tensor<?xf64>
      }""")
    for n, k, length in ((4, 3, 4), (4, 4, 8), (3, 20, 24), (4, -1, 4)):
        tape, longer = run(module, "f", np.int64(n), np.int64(k))
        assert np.isnan(tape).all() and len(tape) == n and len(longer) == length


def test_two_tapes_are_never_one() -> None:
    """They are written to: CSE must not merge them."""
    module = parsed("""
      func.func @f() -> (tensor<4xf64>, tensor<4xf64>) {
        %a = ad.tape : tensor<4xf64>
        %b = ad.tape : tensor<4xf64>
        %unused = ad.tape : tensor<4xf64>
        func.return %a, %b : tensor<4xf64>, tensor<4xf64>
      }""")
    for each in (Cse(), Dce()):
        each.apply(context(), module)
    assert sum(isinstance(op, TapeOp) for op in module.walk()) == 2
