"""Steps that check objects and fill slots. Reads: registers. Writes: code that refuses the plan. Leaves: nothing."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mlirad.contract.call_recipes import ARRAY_FLAGS, Comparison, Spec
from mlirad.targets.cpu.calls.code_writer import I32, I64
from mlirad.targets.cpu.calls.machine_words import (
    DATA,
    DICT_VERSION,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    FLOAT_VALUE,
    FUNCTION_CODE,
    NDIM,
    TYPE,
    VERSION_FLAGS,
    Constant,
)
from mlirad.targets.cpu.calls.plan_attempt import PlanAttempt

_EQ = 2


class CheckSteps(PlanAttempt):
    """The checks of a plan on values, which are then written to their slots."""

    def check_same(self) -> None:
        b = self.b
        value, wanted, how = self.register(), self.operand("p"), self.operand("b")
        differs = self.function.append_basic_block("differs")
        b.cbranch(self.same(value, wanted), self.blocks["next"], differs)
        b.position_at_end(differs)
        self.require(self.same(self.load(value, TYPE), self.load(wanted, TYPE)))
        self.require(b.icmp_signed("!=", how, self.i64(Comparison.IDENTITY)))
        floats, others = self.function.append_basic_block("floats"), self.function.append_basic_block("others")
        b.cbranch(b.icmp_signed("==", how, self.i64(Comparison.BITS)), floats, others)
        b.position_at_end(floats)
        bits, wanted_bits = (self.load(each, FLOAT_VALUE, I64) for each in (value, wanted))
        b.cbranch(b.icmp_signed("==", bits, wanted_bits), self.blocks["next"], self.blocks["mismatch"])
        b.position_at_end(others)
        equal = self.api("PyObject_RichCompareBool", value, wanted, ir.Constant(I32, _EQ))
        self.require(b.icmp_signed("==", equal, ir.Constant(I32, 1)), self.blocks["unset"])

    def check_code(self) -> None:
        self.require(self.same(self.load(self.operand("p"), FUNCTION_CODE), self.operand("q")))

    def check_unchanged(self) -> None:
        """The versions of the namespaces, which only grow, are added up; the sum is stored in the step itself."""
        b = self.b
        total = self.variable(I64, self.i64(0))
        with self.counted(self.operand("a")) as k:
            version = self.load(self.element(self.operand("p"), k), DICT_VERSION, I64)
            version = b.and_(version, self.i64(~VERSION_FLAGS))
            b.store(b.add(b.load(total, typ=I64), version), total)
        versions = b.load(total, typ=I64)
        self.pass_if(b.icmp_signed("==", versions, self.operand("c")))
        self.require_true(self.operand("q"))
        b.store(versions, self.operand_place("c"))

    def check_stays(self) -> None:
        """The namespace's version at the time when the object was found is stored in the step itself."""
        namespace, name_and_object = self.operand("p"), self.operand("q")
        version = self.load(namespace, DICT_VERSION, I64)
        self.pass_if(self.b.icmp_signed("==", version, self.operand("c")))
        found = self.api("PyDict_GetItemWithError", namespace, self.load(name_and_object))
        self.require_found(found)
        self.require(self.same(found, self.load(name_and_object, 8)))
        self.b.store(version, self.operand_place("c"))

    def check_array(self) -> None:
        b = self.b
        array = self.check_type(self.constant(Constant.NDARRAY))
        spec = self.operand("p")
        self.require(self.same(self.load(array, DTYPE), self.load(spec, 8 * Spec.DTYPE)))
        ndim = self.load(spec, 8 * Spec.NDIM, I64)
        self.require(b.icmp_signed("==", self.load(array, NDIM, I32), b.trunc(ndim, I32)))
        # C-contiguous, aligned, writeable
        flags = b.and_(self.load(array, FLAGS, I32), ir.Constant(I32, ARRAY_FLAGS))
        self.require(b.icmp_signed("==", flags, b.trunc(self.load(spec, 8 * Spec.FLAGS, I64), I32)))
        dimensions, wanted = self.load(array, DIMENSIONS), self.at(spec, 8 * Spec.SIZES)
        with self.counted(ndim) as k:
            self.require(self.b.icmp_signed("==", self.element(dimensions, k, I64), self.element(wanted, k, I64)))
        data = b.ptrtoint(self.load(array, DATA), I64)
        self.to_slot(data)
        place = self.operand("c")
        with b.if_then(b.icmp_signed(">=", place, self.i64(0))):
            at = b.shl(place, self.i64(1))
            end = b.add(data, self.load(spec, 8 * Spec.BYTES, I64))
            # The lowest bit of an end says whether the array is written. Bounds are doubled to make room for it.
            b.store(b.shl(data, self.i64(1)), self.place(self.bounds, at))
            marked = b.or_(b.shl(end, self.i64(1)), self.load(spec, 8 * Spec.IS_WRITTEN, I64))
            b.store(marked, self.place(self.bounds, b.add(at, self.i64(1))))

    def to_slot(self, bits: Any) -> None:
        slot = self.operand("b")
        with self.b.if_then(self.b.icmp_signed(">=", slot, self.i64(0))):
            self.b.store(bits, self.place(self.slots, slot))

    def take_float(self) -> None:
        self.to_slot(self.load(self.check_type(self.constant(Constant.FLOAT)), FLOAT_VALUE, I64))

    def take_int(self) -> None:
        b = self.b
        overflow = self.variable(I32, ir.Constant(I32, 0))
        value = self.check_type(self.constant(Constant.INT))
        number = self.api("PyLong_AsLongLongAndOverflow", value, overflow)
        self.require(b.icmp_signed("==", b.load(overflow, typ=I32), ir.Constant(I32, 0)))
        self.to_slot(number)

    def take_bool(self) -> None:
        value = self.register()
        is_true = self.same(value, self.constant(Constant.TRUE))
        self.require(self.b.or_(is_true, self.same(value, self.constant(Constant.FALSE))))
        self.to_slot(self.b.zext(is_true, I64))

    def take_number(self) -> None:
        value = self.check_type(self.operand("p"))
        at = self.place(self.slots, self.operand("b"))
        self.b.store(self.i64(0), at)
        self.api("PyArray_ScalarAsCtype", value, at)
