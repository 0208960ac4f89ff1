"""Attributes, items and views of values.

Reads: values. Writes: ops that read, and checks of indices. Leaves: values; views refer to the array they are of.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, constant, where
from mlirad.errors import StaticIndexError, StaticOverflowError, StaticZeroDivisionError
from mlirad.frontend import layout, view_functions
from mlirad.frontend.fancy import Fancy
from mlirad.frontend.grown_lists import GrownLists, is_integer
from mlirad.frontend.hints import did_you_mean
from mlirad.frontend.indexing import compose, is_basic
from mlirad.frontend.merge import kind_of, renumbered
from mlirad.frontend.numpys_errors import numpys_refusal
from mlirad.frontend.result_layout import Asked, strides_as
from mlirad.frontend.selection import HINT, Selected, transposed
from mlirad.frontend.selection import refusal as selection_refusal
from mlirad.frontend.state import reached
from mlirad.frontend.traced import DATA, Traced, require_static, visible, visible_shape
from mlirad.frontend.values import (
    Alternative,
    Bound,
    Closure,
    Lazy,
    Object,
    Pullback,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
)

_signature = lru_cache(256)(inspect.signature)

# What Python raises where compiled code raises it when, and only if, it gets there.
RUNTIME_ERRORS = (ZeroDivisionError, IndexError, OverflowError, KeyError, ValueError)


class Access(Fancy, GrownLists):
    """`attribute(value, name)` and `get_item(value, index)`."""

    @abstractmethod
    def attribute_of_object(self, owner: Static, name: str) -> Value: ...

    @abstractmethod
    def part_of_range(self, base: Static | Lazy, index: Value) -> Value: ...

    @abstractmethod
    def special(self, value: Value, name: str, *args: Value) -> Value | None: ...

    @abstractmethod
    def element(self, iterable: Value, index: Value) -> Value: ...

    def computed(self, compute: Callable[[], Any], strides: tuple[int, ...] | None = None) -> Value:
        """A value that Python or NumPy computes: of traced operands (ops), or of static ones (now)."""
        try:
            with np.errstate(all="ignore"), numpys_refusal():
                return self.result(compute(), strides)
        except RUNTIME_ERRORS as error:
            # A path on which this is certain may never be taken: it raises at run time.
            raise self.certain_error(error) from None

    def certain_error(self, error: Exception) -> Exception:
        """What to raise for an error that is certain: it is emitted, if it is one of run time."""
        for kind, name in (
            (StaticZeroDivisionError, "ZeroDivisionError"),
            (StaticIndexError, "IndexError"),
            (StaticOverflowError, "OverflowError"),
        ):
            if isinstance(error, kind):
                return self.failed(name, error.message)
        return error

    @staticmethod
    def elementwise_strides(*operands: Value) -> tuple[int, ...] | None:
        return layout.elementwise([layout.view_of_all(value) for value in operands if isinstance(value, Ref)])

    def laid_out(self, result: Value, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """The result of a call of NumPy's function, or of a method by its name, with the layout that it has there."""
        asked = Asked(function, args, kwargs, lambda each: self.state.heap[each.number])
        if isinstance(result, Ref) and not result.shape:
            # np.reshape(s, ()) calls the method of a number of NumPy's, which gives a number; np.flip(x) is x[()].
            found = asked.results()
            if isinstance(found, np.generic | bool | int | float):
                return dataclasses.replace(self.read_scalar(result), weak=not isinstance(found, np.generic))
        if asked.is_row_major:
            return result
        if isinstance(result, Ref) and result.ndim > 1:
            return self.with_strides(result, strides_as(asked.results(), result.shape))
        if isinstance(result, Tuple):
            found = asked.results()
            parts = (
                found if isinstance(found, tuple) and len(found) == len(result.items) else (None,) * len(result.items)
            )
            pairs = zip(result.items, parts, strict=True)
            items = (self.with_strides(x, strides_as(y, x.shape)) if isinstance(x, Ref) else x for x, y in pairs)
            return Tuple(tuple(items), result.kind)
        return result

    @staticmethod
    def with_strides(array: Ref, strides: tuple[int, ...] | None) -> Ref:
        """A new array, which lies in memory so."""
        (alternative,) = array.alternatives
        if strides is None:
            return array
        return Ref((dataclasses.replace(alternative, view=dataclasses.replace(alternative.view, strides=strides)),))

    def attribute(self, value: Value, name: str) -> Value:
        value = self.use(value)
        match value:
            case Ref():
                return self.array_attribute(value, name)
            case Traced():
                return self.number_attribute(value, name)
            case Selected():
                return self.selection_attribute(value, name)
            case Object() if self.grown(value) is not None and hasattr(list, name):
                return Bound(value, name)
            case Object():
                entry = self.entry(value)
                if entry.kind not in (list, dict):
                    if name in entry.keys:
                        return entry.items[entry.keys.index(name)]
                    return self.attribute_of_class(value, entry.kind, name)
                if not hasattr(entry.kind, name):
                    raise self.refusal(f"a {entry.kind.__name__} has no attribute {name!r}")
                return Bound(value, name)
            case Tuple():
                fields = getattr(value.kind, "_fields", ())
                if name in fields:
                    return value.items[fields.index(name)]
                if value.kind is not tuple and name not in dir(tuple):
                    return self.attribute_of_class(value, value.kind, name)
                return Bound(value, name)
            case Static():
                return self.attribute_of_object(value, name)
            case Lazy() | Closure() | Bound() | Transformed() | Pullback():
                raise self.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")
        raise self.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")

    @abstractmethod
    def attribute_of_class(self, value: Value, kind: type, name: str) -> Value: ...

    def array_attribute(self, array: Ref, name: str) -> Value:
        match name:
            case "shape":
                return self.result(visible_shape(array.shape))
            case "ndim":
                return Static(array.ndim)
            case "size":
                return self.result(visible(array.alternatives[0].view.size))
            case "dtype":
                return Static(array.dtype)
            case "itemsize":
                return Static(array.dtype.itemsize)
            case "nbytes":
                return self.result(visible(array.alternatives[0].view.size * array.dtype.itemsize))
        function = view_functions.attribute(name)
        if function is not None:
            viewed = self.viewed(array, function)
            assert viewed is not None
            return viewed
        if not hasattr(np.ndarray, name):
            known = [each for each in dir(np.ndarray) if not each.startswith("_")]
            raise self.refusal(f"an array has no attribute {name!r}", did_you_mean(name, known, ".{}"))
        if not callable(getattr(np.ndarray, name)):
            raise self.refusal(f"the array attribute {name!r} is not compiled")
        return Bound(array, name)

    def number_attribute(self, number: Traced, name: str) -> Value:
        if number.weak:
            if name in ("real", "numerator"):
                return number
            if name == "imag":
                return Static(0)
            raise self.refusal(f"attribute {name!r} of a Python number is not compiled")
        static: dict[str, Any] = {"shape": (), "ndim": 0, "size": 1, "dtype": number.dtype}
        if name in static:
            return Static(static[name]) if name != "shape" else Tuple(())
        if name in ("T", "real"):
            return number
        if not hasattr(np.float64, name):
            known = [each for each in dir(np.float64) if not each.startswith("_")]
            raise self.refusal(f"a NumPy number has no attribute {name!r}", did_you_mean(name, known, ".{}"))
        return Bound(number, name)

    def selection_attribute(self, selection: Selected, name: str) -> Value:
        match name:
            case "size" | "shape":
                return self.result(getattr(selection, name))
            case "ndim" | "dtype":
                return Static(getattr(selection, name))
            case "T":
                return transposed(selection)
        if not callable(getattr(np.ndarray, name, None)):
            raise self.refusal(f"the attribute {name!r} of a masked selection is not compiled", HINT)
        return Bound(selection, name)

    def viewed(self, array: Ref, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref | None:
        """A view of an array, by a view function; None where NumPy makes a copy."""
        try:
            _signature(function).bind(None, *args, **kwargs)
        except TypeError as error:
            raise self.refusal(f"this view of an array is not compiled with these arguments: {error}") from None
        views = [function(alternative.view, *args, **kwargs) for alternative in array.alternatives]
        if all(view is None for view in views):
            unknown = any(layout.is_unknown(alternative.view) for alternative in array.alternatives)
            if unknown and self.is_seen(array):
                raise self.refusal("whether this is a view depends on how the array lies in memory", ".copy() it first")
            return None
        if any(view is None for view in views):
            raise self.refusal(
                "this is a view of one of the arrays it may stand for, and a copy of another", ".copy() it"
            )
        return self.distinct(array.seen_as(views, lambda view: function(view, *args, **kwargs)))

    def is_seen(self, array: Ref) -> bool:
        """Whether anything else in the program refers to the array: if not, a view of it is as good as a copy."""
        found = reached(self.state, (value for _, value in self.state.places()), self.seen_by)
        return any(alternative.cell in found.cells for alternative in array.alternatives)

    def distinct(self, array: Ref) -> Ref:
        """The array, with alternatives that have become one view of one cell, at several starts, made one."""
        groups: dict[tuple[int, Any], list[int]] = {}
        for position, alternative in enumerate(array.alternatives):
            groups.setdefault((alternative.cell, alternative.view.steps), []).append(position)
        if array.selector is None or len(groups) == len(array.alternatives):
            return array
        made: list[Alternative] = []
        numbers = [0] * len(array.alternatives)
        for group, positions in enumerate(groups.values()):
            chosen = [array.alternatives[position].view for position in positions]
            for position in positions:
                numbers[position] = group
            params = tuple(
                self.selected(array.selector, positions, starts)
                for starts in zip(*(view.params for view in chosen), strict=True)
            )
            known = all(view.strides == chosen[0].strides for view in chosen)
            strides = chosen[0].strides if known else layout.unknown_strides(chosen[0].shape)
            readonly = any(view.readonly for view in chosen)
            view = dataclasses.replace(chosen[0], params=params, strides=strides, readonly=readonly)
            made.append(Alternative(array.alternatives[positions[0]].cell, view))
        return Ref(tuple(made), None if len(made) == 1 else renumbered(array.selector, numbers))

    @staticmethod
    def selected(selector: Expr, positions: Sequence[int], starts: Sequence[int | Expr]) -> int | Expr:
        """The start of the alternative that is taken, of those at `positions`."""
        first = starts[0]
        if all(
            start is first or (isinstance(first, int) and not isinstance(start, Expr) and start == first)
            for start in starts
        ):
            return first
        exprs = [start if isinstance(start, Expr) else constant(start, types.I64) for start in starts]
        result = exprs[-1]
        for position, expr in zip(reversed(positions[:-1]), reversed(exprs[:-1]), strict=True):
            result = where(selector == position, expr, result)
        return result

    def index_operand(self, index: Value) -> Any:
        """An index as FE's views take it: 0-d arrays and numbers are read."""
        index = self.use(index)
        if isinstance(index, Lazy) and index.kind is slice:
            return slice(*(self.index_operand(part) for part in index.parts))
        if isinstance(index, Tuple):
            return tuple(self.index_operand(part) for part in index.items)
        if isinstance(index, Ref) and not index.shape:
            return self.read_scalar(index)
        return self.operand(index)

    def get_item(self, base: Value, index: Value) -> Value:
        base = self.use(base)
        if (found := self.special(base, "__getitem__", index)) is not None:
            return found
        match base:
            case Ref():
                return self.array_item(base, index)
            case Tuple():
                return self.sequence_item(base.items, index, lambda items: Tuple(items), is_tuple=True)
            case Object():
                if self.grown(base) is not None:
                    return self.item_of(base, index)
                entry = self.entry(base)
                if entry.kind is dict:
                    key = self.static(index, "a key of a dict")
                    if key not in entry.keys:
                        raise self.failed("KeyError", repr(key))
                    return entry.items[entry.keys.index(key)]
                if entry.kind is list:
                    return self.sequence_item(entry.items, index, self.new_list)
            case Static(value=range()) | Lazy(kind=builtins.range):
                return self.part_of_range(base, index)
            case Static():
                operand = self.index_operand(index)
                if is_integer(operand) and DATA in operand.origins and isinstance(base.value, tuple | str):
                    kind = "tuple" if isinstance(base.value, tuple) else "string"
                    return self.chosen_item(tuple(map(Static, base.value)), operand, kind)
                key, items = self.static(self.as_slice(index), "an index"), self.operand(base)
                return self.computed(lambda: items[key])
            case Traced() if not base.weak and isinstance(index, Tuple) and not index.items:
                return base
            case Selected():
                raise selection_refusal("an index needs it")
        raise self.refusal(f"{self.described(base)} cannot be indexed")

    def as_slice(self, index: Value) -> Value:
        """An index of static parts, a slice among them as Python's."""
        return Static(require_static(self.index_operand(index), "an index")) if isinstance(index, Lazy) else index

    def sequence_item(
        self,
        items: tuple[Value, ...],
        index: Value,
        build: Callable[[tuple[Value, ...]], Value],
        is_tuple: bool = False,
    ) -> Value:
        position = self.index_operand(index)
        if is_integer(position) and DATA in position.origins:
            return self.chosen_item(items, position, "tuple" if is_tuple else "list")
        require_static(position, "the index of a list or tuple")
        if isinstance(position, slice):
            return build(items[position])
        try:
            return items[operator.index(position)]
        except IndexError:
            raise self.failed("IndexError", "list index out of range") from None
        except TypeError:
            raise self.refusal("the indices of lists and tuples are integers and slices") from None

    def array_item(self, array: Ref, index: Value) -> Value:
        position = self.index_operand(index)
        if not is_basic(position):
            return self.advanced_item(array, position)
        part = self.part(array, position)
        entries = position if isinstance(position, tuple) else (position,)
        if part.shape == () and not any(entry is Ellipsis for entry in entries):
            return self.read_scalar(part)
        return part

    def part(self, array: Ref, position: Any) -> Ref:
        """The view `array[position]`, for a basic index."""
        try:
            parts = [compose(a.view, position, self.boundscheck) for a in array.alternatives]
        except RUNTIME_ERRORS as error:
            raise self.certain_error(error) from None
        return self.distinct(array.seen_as(parts, lambda view: compose(view, position, boundscheck=False)))
