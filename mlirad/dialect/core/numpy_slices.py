"""Slices as NumPy source: `x[1:n]`, `x[i, ::-1]`.

Reads: starts, sizes and strides of a slice. Writes: expressions. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, Term, as_view, infix, subscript, text


def slice_text(
    source: NumpySource,
    array: int,
    sizes: Sequence[int],
    starts: Sequence[SSAValue],
    lengths: Sequence[SSAValue | tuple[SSAValue, int]],
    strides: Sequence[int],
) -> NumpyText:
    """A slice of operand `array`. Its `thin` text indexes axes of size 1. lengths: the unknown sizes."""
    unknown = iter(lengths)
    t, value = source.operand(array), source.op.operands[array]
    indices: list[NumpyText] = []
    tails: list[NumpyText] = []
    for axis, (start, size, stride) in enumerate(zip(starts, sizes, strides, strict=True)):
        length = next(unknown) if size < 0 else size
        index, tail = _slice_index(source, start, length, stride, (value, axis))
        indices.append(index)
        tails.append(tail)

    def of(kept: Sequence[int], chosen: Sequence[NumpyText]) -> NumpyText:
        count = len(chosen)
        while count and chosen[count - 1].parts == (":",):
            count -= 1
        found = subscript(t, *chosen[:count]) if count else t
        turned = [tails[axis] for axis in kept]
        if any(tail.parts != (":",) for tail in turned):
            while turned[-1].parts == (":",):
                turned.pop()
            found = subscript(found, *turned)
        return as_view(found)

    thick = [axis for axis, size in enumerate(sizes) if size != 1]
    thin = [
        source.total(start) if size == 1 else index for start, size, index in zip(starts, sizes, indices, strict=True)
    ]
    thin_text = of(thick, thin)
    return replace(of(range(len(sizes)), indices), thin=(thin_text, tuple(sizes[axis] for axis in thick)))


def _slice_index(
    source: NumpySource,
    start: SSAValue,
    length: Term,
    stride: int,
    whole: tuple[SSAValue, int],
) -> tuple[NumpyText, NumpyText]:
    """The index of an ascending slice, and the index that reverses its result if the stride is negative."""
    steps = abs(stride)
    step = text() if steps == 1 else text(":", steps)
    known = source.total(start).literal
    if stride < 0 and isinstance(known, int) and isinstance(length, int) and length:
        end = known + stride * length
        is_last = source.is_size(source.total(start, 1), *whole)
        return _bounds(text() if is_last else text(known), text(end) if end >= 0 else text(), text(":", stride)), text(
            ":"
        )
    if stride < 0 and not isinstance(length, int) and steps > 1:
        span = text(steps, " * ", text("(", source.total(length, -1), ")"))
        first = infix(source.total(start), "-", span, Rank.SUM)
        return _bounds(first, source.total(start, 1), step), text("::-1")
    last = (length - 1) * steps if isinstance(length, int) else length
    if stride < 0:
        first = source.total(start, *([] if isinstance(last, int) else [1]), minus=[last])
        end = source.total(start, 1)
    elif isinstance(length, int) or steps == 1:
        first, end = source.total(start), source.total(start, last, *([1] if isinstance(length, int) else []))
    else:
        first = source.total(start)
        product = infix(text(steps), "*", source.total(length), Rank.PRODUCT)
        end = product if first.literal == 0 else infix(first, "+", product, Rank.SUM)
    if stride > 0 and length == 0:
        end = first
    is_whole = source.is_size(end, *whole)
    if first.literal == 0:
        first = text()
    return _bounds(first, text() if is_whole else end, step), text("::-1" if stride < 0 else ":")


def _bounds(first: NumpyText, end: NumpyText, step: NumpyText) -> NumpyText:
    """`first:end:step`, formatted as by ruff."""
    is_plain = all(not each.parts or (each.negated or each).is_simple for each in (first, end))
    before = " :" if first.parts and not is_plain else ":"
    behind = " " if end.parts and not is_plain else ""
    if step.parts and not is_plain:
        step = text(" " if end.parts else "", ": ", str(step.parts[0]).removeprefix(":"))
    return text(first, before, behind, end, step)
