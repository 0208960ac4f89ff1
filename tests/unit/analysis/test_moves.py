"""Which op may overwrite which array, at the stages of nd ops. Exactly the operands of ops marked `copied`, and the
views marked `copied_view`, have to be copies."""

from __future__ import annotations

import pytest
from expanded import parsed
from xdsl.dialects import func
from xdsl.ir import SSAValue

from mlirad.analysis.moves import ArrayMoves
from mlirad.autodiff.callees import written_by

T = "tensor<4xf64>"
PUT, GET = f": f64 into {T}", f": {T} -> f64"

CASES = {
    "the last use moves, one before another does not": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64) -> ({T}, f64) {{
          %a = nd.neg %x : {T}
          %b = nd.insert %v, %a[%i] {{copied}} {PUT}
          %c = nd.insert %v, %b[%i] {PUT}
          %e = nd.extract %a[%i] {GET}
          func.return %c, %e : {T}, f64
        }}""",
    "the caller's array is copied": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64) -> {T} {{
          %a = nd.insert %v, %x[%i] {{copied}} {PUT}
          func.return %a : {T}
        }}""",
    "an array of the caller's that may be written moves": f"""
        func.func @f(%x: {T} {{mlirad.written = 0 : i64}}, %v: f64, %i: i64) -> {T} {{
          %a = nd.insert %v, %x[%i] {PUT}
          func.return %a : {T}
        }}""",
    "a constant of the program is copied": f"""
        func.func @f(%v: f64, %i: i64) -> {T} {{
          %c = nd.constant {{value = dense<[1.0, 2.0, 3.0, 4.0]> : {T}}} : {T}
          %a = nd.insert %v, %c[%i] {{copied}} {PUT}
          func.return %a : {T}
        }}""",
    "a loop that writes one element a trip writes in place": f"""
        func.func @f(%x: {T}, %v: f64, %n: i64) -> {T} {{
          %zero = nd.constant {{value = 0 : i64}} : i64
          %one = nd.constant {{value = 1 : i64}} : i64
          %a = nd.neg %x : {T}
          %r = scf.for %i = %zero to %n step %one iter_args(%t = %a) -> ({T}) : i64 {{
            %e = nd.extract %t[%i] {GET}
            %u = nd.insert %e, %t[%zero] {PUT}
            scf.yield %u : {T}
          }}
          func.return %r : {T}
        }}""",
    "an array of outside is copied in each trip": f"""
        func.func @f(%x: {T}, %v: f64, %n: i64) -> f64 {{
          %zero = nd.constant {{value = 0 : i64}} : i64
          %one = nd.constant {{value = 1 : i64}} : i64
          %a = nd.neg %x : {T}
          %r = scf.for %i = %zero to %n step %one iter_args(%s = %v) -> (f64) : i64 {{
            %u = nd.insert %s, %a[%i] {{copied}} {PUT}
            %e = nd.extract %u[%zero] {GET}
            scf.yield %e : f64
          }}
          func.return %r : f64
        }}""",
    "the side that leaves yields the array itself": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64, %c: i1) -> {T} {{
          %a = nd.neg %x : {T}
          %r = scf.if %c -> ({T}) {{
            scf.yield %a : {T}
          }} else {{
            %u = nd.insert %v, %a[%i] {PUT}
            scf.yield %u : {T}
          }}
          func.return %r : {T}
        }}""",
    "what one side reads is not later in the other": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64, %c: i1) -> f64 {{
          %a = nd.neg %x : {T}
          %r = scf.if %c -> (f64) {{
            %u = nd.insert %v, %a[%i] {PUT}
            %e = nd.extract %u[%i] {GET}
            scf.yield %e : f64
          }} else {{
            %e = nd.extract %a[%i] {GET}
            scf.yield %e : f64
          }}
          func.return %r : f64
        }}""",
    "what is yielded twice is one array and a copy": f"""
        func.func @f(%x: {T}, %c: i1) -> ({T}, {T}) {{
          %a = nd.neg %x : {T}
          %b = nd.neg %x : {T}
          %r, %s = scf.if %c -> ({T}, {T}) {{
            scf.yield {{copied}} %a, %a : {T}, {T}
          }} else {{
            scf.yield %a, %b : {T}, {T}
          }}
          func.return %r, %s : {T}, {T}
        }}""",
    "a view that is read after a write is a copy": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64) -> ({T}, f64) {{
          %a = nd.neg %x : {T}
          %w = nd.reshape %a {{copied_view}} : {T} to tensor<2x2xf64>
          %b = nd.insert %v, %a[%i] {PUT}
          %e = nd.extract %w[%i, %i] : tensor<2x2xf64> -> f64
          func.return %b, %e : {T}, f64
        }}""",
    "a view that is overwritten takes its source's memory": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64) -> tensor<2x2xf64> {{
          %a = nd.neg %x : {T}
          %w = nd.reshape %a : {T} to tensor<2x2xf64>
          %b = nd.insert %v, %w[%i, %i] : f64 into tensor<2x2xf64>
          func.return %b : tensor<2x2xf64>
        }}""",
    "a view that is overwritten while its source lives is a copy": f"""
        func.func @f(%x: {T}, %v: f64, %i: i64) -> (tensor<2x2xf64>, f64) {{
          %a = nd.neg %x : {T}
          %w = nd.reshape %a {{copied_view}} : {T} to tensor<2x2xf64>
          %b = nd.insert %v, %w[%i, %i] : f64 into tensor<2x2xf64>
          %e = nd.extract %a[%i] {GET}
          func.return %b, %e : tensor<2x2xf64>, f64
        }}""",
    "a size may be asked of what is overwritten": """
        func.func @f(%x: tensor<?xf64>, %v: f64, %i: i64) -> (tensor<?xf64>, i64) {
          %a = nd.neg %x : tensor<?xf64>
          %b = nd.insert %v, %a[%i] : f64 into tensor<?xf64>
          %n = nd.dim %a {axis = 0 : i64} : tensor<?xf64>
          func.return %b, %n : tensor<?xf64>, i64
        }""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_copies(text: str) -> None:
    module = parsed(text)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    written: dict[SSAValue, int] = {
        function.body.block.args[place]: number for place, number in written_by(function).items()
    }
    found = ArrayMoves(function, written)
    copied = [op for op, _ in found.copied]
    assert len(copied) == len(set(copied))
    assert set(copied) == {op for op in module.walk() if "copied" in op.attributes}
    assert {view.owner for view in found.copied_views} == {op for op in module.walk() if "copied_view" in op.attributes}
