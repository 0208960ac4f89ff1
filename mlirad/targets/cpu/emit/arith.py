"""Reads: arith on scalars and vectors. Writes: total instructions: none traps or yields poison. Leaves: no arith op.

Results that arith leaves undefined: x / 0 = x, x % 0 = 0, MIN / -1 = MIN (an earlier lowering selects NumPy's result).
Shifts by the width or more give 0, or the sign. A float outside an integer's range is converted as C compilers, and so
NumPy, do on x86-64: to the smallest number of the instruction's width (32 or 64 bits), truncated to the integer's
width.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.targets.cpu.emit.descriptor import from_parts, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, Rule
from mlirad.targets.cpu.emit.llvm_types import (
    bits_of,
    filled,
    is_float,
    lanes_of,
    literal,
    llvm_type,
    suffix,
    with_element,
)
from mlirad.xdsl_support.remf import RemfOp


def fast_flags(op: Operation) -> str:
    """The op's fast-math flags in LLVM's syntax."""
    attribute = op.properties.get("fastmath")
    if attribute is None:
        return ""
    assert isinstance(attribute, arith.FastMathFlagsAttr)
    return "".join(f"{flag.value} " for flag in sorted(attribute.data))


def _overflow_flags(op: Operation) -> str:
    attribute = op.properties.get("overflowFlags")
    if attribute is None:
        return ""
    assert isinstance(attribute, arith.IntegerOverflowAttr)
    return "".join(f"{flag.value} " for flag in sorted(attribute.data))


def _pair(e: FunctionEmitter, op: Operation) -> tuple[str, str, str]:
    """The LLVM type and the words of a binary op's operands."""
    lhs, rhs = op.operands
    return llvm_type(lhs.type), e.word(lhs), e.word(rhs)


def _integer(instruction: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = _pair(e, op)
        e.bind(op.results[0], e.pure(f"{instruction} {_overflow_flags(op)}{type} {a}, {b}", a, b))

    return rule


def _float(instruction: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = _pair(e, op)
        e.bind(op.results[0], e.pure(f"{instruction} {fast_flags(op)}{type} {a}, {b}", a, b))

    return rule


def _binary_intrinsic(name: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = _pair(e, op)
        full = f"llvm.{name}.{suffix(op.results[0].type)}"
        e.bind(op.results[0], e.intrinsic(full, type, [(type, a), (type, b)], fast_flags(op)))

    return rule


def _cast(instruction: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        (operand,) = op.operands
        e.bind(op.results[0], convert(e, instruction, operand, op.results[0].type))

    return rule


def convert(e: FunctionEmitter, instruction: str, operand: SSAValue, type: Attribute) -> str:
    word = e.word(operand)
    return e.pure(f"{instruction} {llvm_type(operand.type)} {word} to {llvm_type(type)}", word)


def emit_constant(e: FunctionEmitter, op: arith.ConstantOp) -> None:
    e.bind(op.results[0], literal(op.properties["value"]))


# integer division: never traps


def _boolean(type: Attribute) -> str:
    lanes = lanes_of(type)
    return "i1" if lanes is None else f"<{lanes} x i1>"


def safe_divisor(e: FunctionEmitter, op: Operation, *, is_signed: bool) -> tuple[str, str, str]:
    """(type, dividend, divisor); the divisor is 1 wherever the processor would trap."""
    type, a, b = _pair(e, op)
    attribute = op.operands[0].type
    traps = e.assign(f"icmp eq {type} {b}, {filled(0, attribute)}")
    flag = _boolean(attribute)
    if is_signed:
        smallest = filled(-(1 << (bits_of(attribute) - 1)), attribute)
        is_smallest = e.assign(f"icmp eq {type} {a}, {smallest}")
        is_minus_one = e.assign(f"icmp eq {type} {b}, {filled(-1, attribute)}")
        overflows = e.assign(f"and {flag} {is_smallest}, {is_minus_one}")
        traps = e.assign(f"or {flag} {traps}, {overflows}")
    return type, a, e.assign(f"select {flag} {traps}, {type} {filled(1, attribute)}, {type} {b}")


def _division(instruction: str, *, is_signed: bool) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = safe_divisor(e, op, is_signed=is_signed)
        e.bind(op.results[0], e.assign(f"{instruction} {type} {a}, {b}"))

    return rule


def _rounded_division(direction: str) -> Rule:
    """Signed division rounded down ("sub") or up ("add"): the truncated quotient, corrected if there is a remainder."""

    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = safe_divisor(e, op, is_signed=True)
        attribute = op.operands[0].type
        flag, zero = _boolean(attribute), filled(0, attribute)
        quotient = e.assign(f"sdiv {type} {a}, {b}")
        remainder = e.assign(f"srem {type} {a}, {b}")
        has_remainder = e.assign(f"icmp ne {type} {remainder}, {zero}")
        signs = e.assign(f"xor {type} {a}, {b}")
        compare = "slt" if direction == "sub" else "sge"
        is_rounded_away = e.assign(f"icmp {compare} {type} {signs}, {zero}")
        adjusts = e.assign(f"and {flag} {has_remainder}, {is_rounded_away}")
        amount = e.assign(f"zext {flag} {adjusts} to {type}") if type != flag else adjusts
        e.bind(op.results[0], e.assign(f"{direction} {type} {quotient}, {amount}"))

    return rule


def emit_ceildivui(e: FunctionEmitter, op: arith.CeilDivUIOp) -> None:
    type, a, b = safe_divisor(e, op, is_signed=False)
    flag, zero = _boolean(op.lhs.type), filled(0, op.lhs.type)
    quotient = e.assign(f"udiv {type} {a}, {b}")
    remainder = e.assign(f"urem {type} {a}, {b}")
    adjusts = e.assign(f"icmp ne {type} {remainder}, {zero}")
    amount = e.assign(f"zext {flag} {adjusts} to {type}") if type != flag else adjusts
    e.bind(op.result, e.assign(f"add {type} {quotient}, {amount}"))


# shifts: total


def _shift(instruction: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = _pair(e, op)
        attribute = op.results[0].type
        bits, flag = bits_of(attribute), _boolean(attribute)
        fits = e.assign(f"icmp ult {type} {b}, {filled(bits, attribute)}") if bits > 1 else b
        if bits == 1:
            # The only shift that fits is by 0; ashr of one bit is the bit itself.
            kept = (
                a
                if instruction == "ashr"
                else e.assign(f"select {flag} {b}, {type} {filled(0, attribute)}, {type} {a}")
            )
            e.bind(op.results[0], kept)
            return
        largest = filled(bits - 1, attribute)
        amount = e.assign(f"select {flag} {fits}, {type} {b}, {type} {largest}")
        shifted = e.assign(f"{instruction} {_overflow_flags(op)}{type} {a}, {amount}")
        if instruction != "ashr":
            shifted = e.assign(f"select {flag} {fits}, {type} {shifted}, {type} {filled(0, attribute)}")
        e.bind(op.results[0], shifted)

    return rule


# wide results


def _multiply_extended(extension: str) -> Rule:
    def rule(e: FunctionEmitter, op: Operation) -> None:
        type, a, b = _pair(e, op)
        attribute = op.operands[0].type
        bits, lanes = bits_of(attribute), lanes_of(attribute)
        wide = f"i{2 * bits}" if lanes is None else f"<{lanes} x i{2 * bits}>"
        amount = str(bits) if lanes is None else f"splat (i{2 * bits} {bits})"
        x, y = (e.assign(f"{extension} {type} {word} to {wide}") for word in (a, b))
        product = e.assign(f"mul {wide} {x}, {y}")
        upper = e.assign(f"lshr {wide} {product}, {amount}")
        e.bind(op.results[0], e.assign(f"trunc {wide} {product} to {type}"))
        e.bind(op.results[1], e.assign(f"trunc {wide} {upper} to {type}"))

    return rule


def emit_add_extended(e: FunctionEmitter, op: arith.AddUIExtendedOp) -> None:
    type, a, b = _pair(e, op)
    total = e.assign(f"add {type} {a}, {b}")
    e.bind(op.sum, total)
    e.bind(op.overflow, e.assign(f"icmp ult {type} {total}, {a}"))


# comparison, selection, conversion


def emit_cmpi(e: FunctionEmitter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    type, a, b = _pair(e, op)
    e.bind(op.result, e.pure(f"icmp {predicate} {type} {a}, {b}", a, b))


def emit_cmpf(e: FunctionEmitter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    type, a, b = _pair(e, op)
    e.bind(op.result, e.pure(f"fcmp {fast_flags(op)}{predicate} {type} {a}, {b}", a, b))


def emit_select(e: FunctionEmitter, op: arith.SelectOp) -> None:
    cond, lhs, rhs = op.operands
    type, condition = lhs.type, e.word(cond)
    flag = f"{llvm_type(cond.type)} {condition}"
    pairs = zip(to_parts(e.value(lhs), type), to_parts(e.value(rhs), type), strict=True)
    words = [e.pure(f"select {flag}, {part} {a}, {part} {b}", condition, a, b) for (part, a), (_, b) in pairs]
    e.bind(op.result, from_parts(e, type, iter(words)))


def emit_negf(e: FunctionEmitter, op: arith.NegfOp) -> None:
    word = e.word(op.operand)
    e.bind(op.result, e.pure(f"fneg {fast_flags(op)}{llvm_type(op.result.type)} {word}", word))


def _truncated(e: FunctionEmitter, word: str, source: Attribute, bits: int) -> str:
    """A float as an integer of 32 or 64 bits, rounded towards zero; the smallest integer if it does not fit."""
    if bits_of(source) == 16:  # no half reaches the limit
        wide = with_element(source, Float32Type())
        word, source = e.pure(f"fpext {llvm_type(source)} {word} to {llvm_type(wide)}", word), wide
    lanes, number, limit = lanes_of(source), llvm_type(source), 2.0 ** (bits - 1)
    magnitude = e.intrinsic(f"llvm.fabs.{suffix(source)}", number, [(number, word)])
    fits = e.pure(f"fcmp olt {number} {magnitude}, {filled(limit, source)}", magnitude)
    # The smallest number itself does not "fit", but its replacement has the same result.
    safe = e.pure(f"select {_boolean(source)} {fits}, {number} {word}, {number} {filled(-limit, source)}", fits, word)
    return e.pure(f"fptosi {number} {safe} to {_integers(bits, lanes)}", safe)


def _integers(bits: int, lanes: int | None) -> str:
    return f"i{bits}" if lanes is None else f"<{lanes} x i{bits}>"


def emit_float_to_signed(e: FunctionEmitter, op: arith.FPToSIOp) -> None:
    bits = bits_of(op.result.type)
    _emit_cut(e, op, 64 if bits > 32 else 32)


def emit_float_to_unsigned(e: FunctionEmitter, op: arith.FPToUIOp) -> None:
    bits = bits_of(op.result.type)
    if bits < 64:
        _emit_cut(e, op, 32 if bits < 32 else 64)
        return
    # From 2**63 on: the difference, with the highest bit set.
    source, word = op.input.type, e.word(op.input)
    number, integer, flag = llvm_type(source), llvm_type(op.result.type), _boolean(source)
    limit, highest = filled(2.0**63, source), filled(-(2**63), op.result.type)
    is_high = e.pure(f"fcmp oge {number} {word}, {limit}", word)
    beyond = e.pure(f"fsub {number} {word}, {limit}", word)
    low = e.pure(f"select {flag} {is_high}, {number} {beyond}, {number} {word}", is_high, beyond, word)
    cut = _truncated(e, low, source, 64)
    with_bit = e.pure(f"xor {integer} {cut}, {highest}", cut)
    chosen = e.pure(f"select {flag} {is_high}, {integer} {with_bit}, {integer} {cut}", is_high, with_bit, cut)
    e.bind(op.result, chosen)


def _emit_cut(e: FunctionEmitter, op: arith.FPToSIOp | arith.FPToUIOp, wide: int) -> None:
    """Convert a float to an integer, by an instruction with a result of `wide` bits."""
    source, target = op.input.type, op.result.type
    word = _truncated(e, e.word(op.input), source, wide)
    if bits_of(target) < wide:
        word = e.pure(f"trunc {_integers(wide, lanes_of(source))} {word} to {llvm_type(target)}", word)
    e.bind(op.result, word)


def emit_float_truncation(e: FunctionEmitter, op: arith.TruncFOp) -> None:
    """From f64 to f16 through f32, because there are instructions for both steps. The first step rounds towards zero,
    and sets the last bit if it is not exact, so that only the second step rounds."""
    source, target = op.input.type, op.result.type
    if (bits_of(source), bits_of(target)) != (64, 16):
        e.bind(op.result, convert(e, "fptrunc", op.input, target))
        return
    wide, word = with_element(source, Float32Type()), e.word(op.input)
    f64, f32, flag = llvm_type(source), llvm_type(wide), _boolean(source)
    bits = _integers(32, lanes_of(source))
    near = e.pure(f"fptrunc {f64} {word} to {f32}", word)
    again = e.pure(f"fpext {f32} {near} to {f64}", near)
    is_inexact = e.pure(f"fcmp one {f64} {again}, {word}", again, word)
    magnitudes = [e.intrinsic(f"llvm.fabs.{suffix(source)}", f64, [(f64, each)]) for each in (again, word)]
    is_beyond = e.pure(f"fcmp ogt {f64} {magnitudes[0]}, {magnitudes[1]}", *magnitudes)
    number = e.pure(f"bitcast {f32} {near} to {bits}", near)
    step = e.pure(f"zext {flag} {is_beyond} to {bits}", is_beyond)
    below = e.pure(f"sub {bits} {number}, {step}", number, step)
    odd = e.pure(f"zext {flag} {is_inexact} to {bits}", is_inexact)
    rounded = e.pure(f"or {bits} {below}, {odd}", below, odd)
    single = e.pure(f"bitcast {bits} {rounded} to {f32}", rounded)
    e.bind(op.result, e.pure(f"fptrunc {f32} {single} to {llvm_type(target)}", single))


def emit_index_cast(e: FunctionEmitter, op: arith.IndexCastOp) -> None:
    before, after = bits_of(op.input.type), bits_of(op.result.type)
    if before == after:
        e.bind(op.result, e.word(op.input))
    else:
        e.bind(op.result, convert(e, "sext" if before < after else "trunc", op.input, op.result.type))


def emit_bitcast(e: FunctionEmitter, op: arith.BitcastOp) -> None:
    if is_float(op.input.type) == is_float(op.result.type):
        e.bind(op.result, e.value(op.input))
    else:
        e.bind(op.result, convert(e, "bitcast", op.input, op.result.type))


RULES: dict[type[Operation], Rule] = {
    arith.ConstantOp: emit_constant,
    arith.AddiOp: _integer("add"),
    arith.SubiOp: _integer("sub"),
    arith.MuliOp: _integer("mul"),
    arith.AndIOp: _integer("and"),
    arith.OrIOp: _integer("or"),
    arith.XOrIOp: _integer("xor"),
    arith.ShLIOp: _shift("shl"),
    arith.ShRSIOp: _shift("ashr"),
    arith.ShRUIOp: _shift("lshr"),
    arith.DivSIOp: _division("sdiv", is_signed=True),
    arith.DivUIOp: _division("udiv", is_signed=False),
    arith.RemSIOp: _division("srem", is_signed=True),
    arith.RemUIOp: _division("urem", is_signed=False),
    arith.FloorDivSIOp: _rounded_division("sub"),
    arith.CeilDivSIOp: _rounded_division("add"),
    arith.CeilDivUIOp: emit_ceildivui,
    arith.MinSIOp: _binary_intrinsic("smin"),
    arith.MaxSIOp: _binary_intrinsic("smax"),
    arith.MinUIOp: _binary_intrinsic("umin"),
    arith.MaxUIOp: _binary_intrinsic("umax"),
    arith.AddUIExtendedOp: emit_add_extended,
    arith.MulSIExtendedOp: _multiply_extended("sext"),
    arith.MulUIExtendedOp: _multiply_extended("zext"),
    arith.AddfOp: _float("fadd"),
    arith.SubfOp: _float("fsub"),
    arith.MulfOp: _float("fmul"),
    arith.DivfOp: _float("fdiv"),
    RemfOp: _float("frem"),
    arith.NegfOp: emit_negf,
    arith.MaximumfOp: _binary_intrinsic("maximum"),
    arith.MinimumfOp: _binary_intrinsic("minimum"),
    arith.MaxnumfOp: _binary_intrinsic("maxnum"),
    arith.MinnumfOp: _binary_intrinsic("minnum"),
    arith.CmpiOp: emit_cmpi,
    arith.CmpfOp: emit_cmpf,
    arith.SelectOp: emit_select,
    arith.IndexCastOp: emit_index_cast,
    arith.BitcastOp: emit_bitcast,
    arith.FPToSIOp: emit_float_to_signed,
    arith.FPToUIOp: emit_float_to_unsigned,
    arith.SIToFPOp: _cast("sitofp"),
    arith.UIToFPOp: _cast("uitofp"),
    arith.ExtFOp: _cast("fpext"),
    arith.TruncFOp: emit_float_truncation,
    arith.TruncIOp: _cast("trunc"),
    arith.ExtSIOp: _cast("sext"),
    arith.ExtUIOp: _cast("zext"),
}
