"""Reads: math on scalars and vectors, complex on scalars. Writes: LLVM intrinsics, or C library calls lane by lane;
arithmetic on the parts of complex numbers. Leaves: no math op, and no complex op that mlirad emits."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import complex as complexes
from xdsl.dialects import math
from xdsl.dialects.builtin import ArrayAttr, ComplexType, Float32Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.targets.cpu.emit.arith import fast_flags
from mlirad.targets.cpu.emit.descriptor import Parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, Rule
from mlirad.targets.cpu.emit.llvm_types import element_of, filled, is_float, lanes_of, literal, llvm_type, suffix


def lane_by_lane(e: FunctionEmitter, name: str, operands: Sequence[tuple[str, Attribute]], result: Attribute) -> str:
    """Call a scalar function on scalars, or on each lane of vectors."""
    lanes, element = lanes_of(result), llvm_type(element_of(result))
    if lanes is None:
        return e.intrinsic(name, element, [(llvm_type(type), word) for word, type in operands])
    vector = "poison"
    for lane in range(lanes):
        scalars = [
            (
                llvm_type(element_of(type)),
                e.assign(f"extractelement {llvm_type(type)} {word}, i64 {lane}") if lanes_of(type) else word,
            )
            for word, type in operands
        ]
        scalar = e.intrinsic(name, element, scalars)
        vector = e.assign(f"insertelement {llvm_type(result)} {vector}, {element} {scalar}, i64 {lane}")
    return vector


def _intrinsic(name: str) -> Rule:
    """llvm.name; the code generator calls the C library if the processor has no such instruction."""

    def rule(e: FunctionEmitter, op: Operation) -> None:
        type = op.results[0].type
        arguments = [(llvm_type(operand.type), e.word(operand)) for operand in op.operands]
        flags = fast_flags(op) if is_float(type) else ""
        e.bind(op.results[0], e.intrinsic(f"llvm.{name}.{suffix(type)}", llvm_type(type), arguments, flags))

    return rule


def _counting(name: str) -> Rule:
    """llvm.ctlz and similar intrinsics. Their second operand says that the result for 0 (or abs of MIN) is defined."""

    def rule(e: FunctionEmitter, op: Operation) -> None:
        type = op.results[0].type
        arguments = [(llvm_type(type), e.word(op.operands[0])), ("i1", "false")]
        e.bind(op.results[0], e.intrinsic(f"llvm.{name}.{suffix(type)}", llvm_type(type), arguments))

    return rule


def _library(name: str) -> Rule:
    """A function of the C library without an LLVM intrinsic."""

    def rule(e: FunctionEmitter, op: Operation) -> None:
        type = op.results[0].type
        symbol = f"{name}f" if isinstance(element_of(type), Float32Type) else name
        operands = [(e.word(operand), operand.type) for operand in op.operands]
        e.bind(op.results[0], lane_by_lane(e, symbol, operands, type))

    return rule


def emit_rsqrt(e: FunctionEmitter, op: math.RsqrtOp) -> None:
    type = op.result.type
    word, flags = llvm_type(type), fast_flags(op)
    root = e.intrinsic(f"llvm.sqrt.{suffix(type)}", word, [(word, e.word(op.operand))], flags)
    e.bind(op.result, e.assign(f"fdiv {flags}{word} {filled(1.0, type)}, {root}"))


def emit_fpowi(e: FunctionEmitter, op: math.FPowIOp) -> None:
    """Uses pow, which is exact to an ulp; llvm.powi multiplies repeatedly and takes a 32-bit exponent."""
    type = op.result.type
    word = llvm_type(type)
    exponent = e.assign(f"sitofp {llvm_type(op.rhs.type)} {e.word(op.rhs)} to {word}")
    arguments = [(word, e.word(op.lhs)), (word, exponent)]
    e.bind(op.result, e.intrinsic(f"llvm.pow.{suffix(type)}", word, arguments, fast_flags(op)))


def emit_ipowi(e: FunctionEmitter, op: math.IPowIOp) -> None:
    """Squares repeatedly, in 64 bits, which wrap as the narrower type does."""
    type = op.result.type
    lanes, narrow = lanes_of(type), llvm_type(type)
    wide = "i64" if lanes is None else f"<{lanes} x i64>"
    words = [e.word(op.lhs), e.word(op.rhs)]
    if wide != narrow:
        words = [e.assign(f"sext {narrow} {word} to {wide}") for word in words]
    name = e.module.use_runtime("mlirad.ipow")
    if lanes is None:
        power = e.assign(f"call i64 {name}(i64 {words[0]}, i64 {words[1]})")
    else:
        power = "poison"
        for lane in range(lanes):
            x, n = (e.assign(f"extractelement {wide} {word}, i64 {lane}") for word in words)
            scalar = e.assign(f"call i64 {name}(i64 {x}, i64 {n})")
            power = e.assign(f"insertelement {wide} {power}, i64 {scalar}, i64 {lane}")
    e.bind(op.result, power if wide == narrow else e.assign(f"trunc {wide} {power} to {narrow}"))


# complex numbers


def _parts(e: FunctionEmitter, value: SSAValue) -> Parts:
    found = e.value(value)
    assert isinstance(found, Parts)
    return found


def emit_create(e: FunctionEmitter, op: complexes.CreateOp) -> None:
    e.bind(op.results[0], Parts(*e.words(op.operands)))


def emit_re(e: FunctionEmitter, op: complexes.ReOp) -> None:
    e.bind(op.results[0], _parts(e, op.operands[0]).re)


def emit_im(e: FunctionEmitter, op: complexes.ImOp) -> None:
    e.bind(op.results[0], _parts(e, op.operands[0]).im)


def emit_constant(e: FunctionEmitter, op: complexes.ConstantOp) -> None:
    value = op.properties["value"]
    assert isinstance(value, ArrayAttr)
    numbers = [each for each in value.data if isinstance(each, FloatAttr)]
    e.bind(op.results[0], Parts(*map(literal, numbers)))


def emit_add(e: FunctionEmitter, op: complexes.AddOp) -> None:
    x, y = (_parts(e, operand) for operand in op.operands)
    type = op.operands[0].type
    assert isinstance(type, ComplexType)
    part = llvm_type(type.element_type)
    pairs = (x.re, y.re), (x.im, y.im)
    e.bind(op.results[0], Parts(*(e.pure(f"fadd {part} {a}, {b}", a, b) for a, b in pairs)))


RULES: dict[type[Operation], Rule] = {
    math.AbsFOp: _intrinsic("fabs"),
    math.AcosOp: _intrinsic("acos"),
    math.AsinOp: _intrinsic("asin"),
    math.AtanOp: _intrinsic("atan"),
    math.Atan2Op: _intrinsic("atan2"),
    math.CeilOp: _intrinsic("ceil"),
    math.CopySignOp: _intrinsic("copysign"),
    math.CosOp: _intrinsic("cos"),
    math.CoshOp: _intrinsic("cosh"),
    math.ExpOp: _intrinsic("exp"),
    math.Exp2Op: _intrinsic("exp2"),
    math.FloorOp: _intrinsic("floor"),
    math.FmaOp: _intrinsic("fma"),
    math.LogOp: _intrinsic("log"),
    math.Log2Op: _intrinsic("log2"),
    math.Log10Op: _intrinsic("log10"),
    math.PowFOp: _intrinsic("pow"),
    math.RoundOp: _intrinsic("round"),
    math.RoundEvenOp: _intrinsic("roundeven"),
    math.SinOp: _intrinsic("sin"),
    math.SinhOp: _intrinsic("sinh"),
    math.SqrtOp: _intrinsic("sqrt"),
    math.TanOp: _intrinsic("tan"),
    math.TanhOp: _intrinsic("tanh"),
    math.TruncOp: _intrinsic("trunc"),
    math.CtPopOp: _intrinsic("ctpop"),
    math.AbsIOp: _counting("abs"),
    math.CountLeadingZerosOp: _counting("ctlz"),
    math.CountTrailingZerosOp: _counting("cttz"),
    math.AcoshOp: _library("acosh"),
    math.AsinhOp: _library("asinh"),
    math.AtanhOp: _library("atanh"),
    math.CbrtOp: _library("cbrt"),
    math.ErfOp: _library("erf"),
    math.ExpM1Op: _library("expm1"),
    math.Log1pOp: _library("log1p"),
    math.RsqrtOp: emit_rsqrt,
    math.FPowIOp: emit_fpowi,
    math.IPowIOp: emit_ipowi,
    complexes.AddOp: emit_add,
    complexes.ConstantOp: emit_constant,
    complexes.CreateOp: emit_create,
    complexes.ImOp: emit_im,
    complexes.ReOp: emit_re,
}
