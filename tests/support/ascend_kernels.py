"""Kernels for the 910B, written by hand: the text that the simulator's tests execute, corrupt and mutate.

Reads: sizes. Writes: text of hivm in generic form, one op a line. Leaves: nothing.
"""

from __future__ import annotations


def gm(*shape: int | str, element: str = "f32", layout: str = "") -> str:
    return f"memref<{'x'.join(map(str, shape))}x{element}, {layout}#hivm.address_space<gm>>"


def part(*shape: int | str, element: str = "f32", strides: str = "1") -> str:
    """A view of global memory."""
    return gm(*shape, element=element, layout=f"strided<[{strides}], offset: ?>, ")


def ub(*shape: int | str, element: str = "f32", layout: str = "") -> str:
    return f"memref<{'x'.join(map(str, shape))}x{element}, {layout}#hivm.address_space<ub>>"


def number(name: str, value: int | float | str, type: str = "i64") -> str:
    return f'%{name} = "arith.constant"() <{{value = {value} : {type}}}> : () -> {type}'


def buffer(name: str, address: str, type: str) -> str:
    segments = "operandSegmentSizes = array<i32: 1, 0>"
    return f'%{name} = "hivm.hir.pointer_cast"(%{address}) <{{{segments}}}> : (i64) -> {type}'


def load(source: str, target: str, from_: str, to: str) -> str:
    segments = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>"
    return f'"hivm.hir.load"(%{source}, %{target}) <{{{segments}}}> : ({from_}, {to}) -> ()'


def store(source: str, target: str, from_: str, to: str, atomic: str = "") -> str:
    kind = f" <{{atomic_kind = #hivm.atomic_kind<{atomic}>}}>" if atomic else ""
    return f'"hivm.hir.store"(%{source}, %{target}){kind} : ({from_}, {to}) -> ()'


def vector(op: str, *operands: str, type: str, scalar: str = "") -> str:
    """An elementwise instruction whose last operand is its output; `scalar` is the type of the one before, if it is."""
    count = len(operands) - 1
    segments = f"operandSegmentSizes = array<i32: {count}, 1, 0>"
    listed = ", ".join(f"%{each}" for each in operands)
    types = [type] * len(operands)
    if scalar:
        types[-2] = scalar
    properties = f"<{{broadcast = array<i64>, {segments}, transpose = array<i64>}}>"
    return f'"hivm.hir.{op}"({listed}) {properties} : ({", ".join(types)}) -> ()'


def flag(op: str, from_: str, to: str, event: int | str) -> str:
    """`set` or `wait`; a name is a dynamic event id."""
    pipes = f"set_pipe = #hivm.pipe<PIPE_{from_}>, wait_pipe = #hivm.pipe<PIPE_{to}>"
    if isinstance(event, int):
        return f'"hivm.hir.{op}_flag"() <{{{pipes}, static_event_id = #hivm.event<EVENT_ID{event}>}}> : () -> ()'
    return f'"hivm.hir.{op}_flag"(%{event}) <{{{pipes}}}> : (i64) -> ()'


def barrier(pipe: str) -> str:
    return f'"hivm.hir.pipe_barrier"() <{{pipe = #hivm.pipe<PIPE_{pipe}>}}> : () -> ()'


def kernel(name: str, arguments: str, *lines: str) -> str:
    attributes = (
        "hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>"
    )
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @{name}({arguments}) attributes {{{attributes}}} {{\n{body}\n  func.return\n}}"


def module(*functions: str) -> str:
    return "module {\n" + "\n".join(functions) + "\n}\n"


def main(name: str, result: str, blocks: int, *arguments: str) -> str:
    """A host function that launches a kernel on its arguments and a new buffer, which is its result."""
    given = ", ".join(f"%arg{place}: {type}" for place, type in enumerate(arguments))
    passed = ", ".join([*(f"%arg{place}" for place in range(len(arguments))), "%out"])
    types = ", ".join([*arguments, result])
    return f"""func.func @main({given}) -> {result} attributes {{hacc.function_kind = #hacc.function_kind<HOST>}} {{
  %out = memref.alloc() : {result}
  func.call @{name}({passed}) {{mlirad.block_dim = {blocks} : i64}} : ({types}) -> ()
  func.return %out : {result}
}}"""


def window(name: str, source: str, offset: str, size: int | str, whole: str) -> str:
    """`size` elements of a vector from an offset on; a name is a size known at run time."""
    static = size if isinstance(size, int) else "?"
    known = f"%{size}" if isinstance(size, str) else str(size)
    return f"%{name} = memref.subview %{source}[%{offset}] [{known}] [1] : {whole} to {part(static)}"


def exp_of_sum(tiles: int = 4, tile: int = 64, blocks: int = 1) -> str:
    """z = exp(x + y), in tiles with two buffers each, which take turns: even and odd tiles have event ids 0 and 1."""
    n, each = tiles * tile * blocks, tiles * tile
    whole, own, tile_bytes = gm(n), ub(tile), 4 * tile
    turn = [
        "%turn = arith.remsi %i, %two : index",
        "%event = arith.index_cast %turn : index to i64",
        "%shift = arith.muli %event, %bytes : i64",
        "%first = arith.muli %i, %tile : index",
        "%offset = arith.addi %base, %first : index",
        window("xs", "x", "offset", tile, whole),
        window("ys", "y", "offset", tile, whole),
        window("zs", "z", "offset", tile, whole),
        *(
            line
            for name in ("a", "b", "c")
            for line in (
                f"%at_{name} = arith.addi %start_{name}, %shift : i64",
                buffer(name, f"at_{name}", own),
            )
        ),
        flag("wait", "V", "MTE2", "event"),
        load("xs", "a", part(tile), own),
        load("ys", "b", part(tile), own),
        flag("set", "MTE2", "V", "event"),
        flag("wait", "MTE2", "V", "event"),
        flag("wait", "MTE3", "V", "event"),
        vector("vadd", "a", "b", "c", type=own),
        flag("set", "V", "MTE2", "event"),
        barrier("V"),
        vector("vexp", "c", "c", type=own),
        flag("set", "V", "MTE3", "event"),
        flag("wait", "V", "MTE3", "event"),
        store("c", "zs", own, part(tile)),
        flag("set", "MTE3", "V", "event"),
    ]
    ends = [(pipes, event) for pipes in (("V", "MTE2"), ("MTE3", "V")) for event in (0, 1)]
    return module(
        kernel(
            "exp_of_sum",
            f"%x: {whole}, %y: {whole}, %z: {whole}",
            number("zero", 0, "index"),
            number("one", 1, "index"),
            number("two", 2, "index"),
            number("tile", tile, "index"),
            number("tiles", tiles, "index"),
            number("each", each, "index"),
            number("bytes", tile_bytes),
            *(number(f"start_{name}", 2 * tile_bytes * place) for place, name in enumerate("abc")),
            '%block = "hivm.hir.get_block_idx"() : () -> i64',
            "%number = arith.index_cast %block : i64 to index",
            "%base = arith.muli %number, %each : index",
            *(flag("set", *pipes, event) for pipes, event in ends),
            "scf.for %i = %zero to %tiles step %one {",
            *(f"  {line}" for line in turn),
            "}",
            *(flag("wait", *pipes, event) for pipes, event in ends),
            barrier("ALL"),
        ),
        main("exp_of_sum", whole, blocks, whole, whole),
    )


def reduce(kind: str, source: str, target: str, axis: int, from_: str, to: str) -> str:
    properties = f"arith = #hivm.reduce_op<{kind}>, operandSegmentSizes = array<i32: 1, 1, 0, 0>"
    listed = f"reduce_dims = array<i64: {axis}>"
    return f'"hivm.hir.vreduce"(%{source}, %{target}) <{{{properties}, {listed}}}> : ({from_}, {to}) -> ()'


def broadcast(source: str, target: str, axis: int, from_: str, to: str) -> str:
    properties = f"broadcast_dims = array<i64: {axis}>"
    return f'"hivm.hir.vbrc"(%{source}, %{target}) <{{{properties}}}> : ({from_}, {to}) -> ()'


def softmax(tiles: int = 2, rows: int = 8, columns: int = 64, blocks: int = 2) -> str:
    """The softmax of each row: tiles of whole rows, each in the same buffers."""
    whole, tile, column = gm(tiles * rows * blocks, columns), ub(rows, columns), ub(rows, 1)
    view = part(rows, columns, strides=f"{columns}, 1")
    tile_bytes = 4 * rows * columns

    def step(*lines: str) -> list[str]:
        """Vector instructions; each needs the one before it."""
        return [each for line in lines for each in (line, barrier("V"))][:-1]

    turn = [
        "%mine = arith.muli %i, %rows : index",
        "%row = arith.addi %base, %mine : index",
        f"%xs = memref.subview %x[%row, 0] [{rows}, {columns}] [1, 1] : {whole} to {view}",
        f"%zs = memref.subview %z[%row, 0] [{rows}, {columns}] [1, 1] : {whole} to {view}",
        buffer("a", "at_a", tile),
        buffer("b", "at_b", tile),
        buffer("c", "at_c", column),
        flag("wait", "V", "MTE2", 0),
        load("xs", "a", view, tile),
        flag("set", "MTE2", "V", 0),
        flag("wait", "MTE2", "V", 0),
        reduce("max", "a", "c", 1, tile, column),
        flag("wait", "MTE3", "V", 0),
        barrier("V"),
        *step(
            broadcast("c", "b", 1, column, tile),
            vector("vsub", "a", "b", "b", type=tile),
        ),
        flag("set", "V", "MTE2", 0),
        barrier("V"),
        *step(
            vector("vexp", "b", "b", type=tile),
            reduce("sum", "b", "c", 1, tile, column),
            '"hivm.hir.vrec"(%c, %c) <{broadcast = array<i64>, operandSegmentSizes = array<i32: 1, 1, 0>, '
            f"transpose = array<i64>}}> : ({column}, {column}) -> ()",
            broadcast("c", "d", 1, column, tile),
            vector("vmul", "b", "d", "b", type=tile),
        ),
        flag("set", "V", "MTE3", 0),
        flag("wait", "V", "MTE3", 0),
        store("b", "zs", tile, view),
        flag("set", "MTE3", "V", 0),
    ]
    ends = [("V", "MTE2"), ("MTE3", "V")]
    return module(
        kernel(
            "softmax",
            f"%x: {whole}, %z: {whole}",
            *(number(name, value, "index") for name, value in (("zero", 0), ("one", 1), ("rows", rows))),
            number("tiles", tiles, "index"),
            number("each", tiles * rows, "index"),
            *(number(f"at_{name}", tile_bytes * place) for place, name in enumerate("abdc")),
            buffer("d", "at_d", tile),
            '%block = "hivm.hir.get_block_idx"() : () -> i64',
            "%number = arith.index_cast %block : i64 to index",
            "%base = arith.muli %number, %each : index",
            *(flag("set", *pipes, 0) for pipes in ends),
            "scf.for %i = %zero to %tiles step %one {",
            *(f"  {line}" for line in turn),
            "}",
            *(flag("wait", *pipes, 0) for pipes in ends),
        ),
        main("softmax", whole, blocks, whole),
    )


def tail(n: int = 200, tile: int = 64, blocks: int = 2) -> str:
    """z = 3 max(x, 0), in tiles, the last one shorter; block b has the tiles b, b + blocks..."""
    whole, own, some = gm(n), ub(tile), ub("?", layout="strided<[1]>, ")
    partial = "memref.subview %{0}[0] [%size] [1] : " + own + " to " + some
    turn = [
        "%rest = arith.subi %n, %offset : index",
        "%size = arith.minsi %rest, %tile : index",
        window("xs", "x", "offset", "size", whole),
        window("zs", "z", "offset", "size", whole),
        buffer("a", "at_a", own),
        buffer("b", "at_b", own),
        f"%as = {partial.format('a')}",
        f"%bs = {partial.format('b')}",
        flag("wait", "V", "MTE2", 0),
        load("xs", "as", part("?"), some),
        flag("set", "MTE2", "V", 0),
        flag("wait", "MTE2", "V", 0),
        vector("vrelu", "as", "as", type=some),
        barrier("V"),
        flag("wait", "MTE3", "V", 0),
        vector("vmul", "as", "three", "bs", type=some, scalar="f32"),
        flag("set", "V", "MTE2", 0),
        flag("set", "V", "MTE3", 1),
        flag("wait", "V", "MTE3", 1),
        store("bs", "zs", some, part("?")),
        flag("set", "MTE3", "V", 0),
    ]
    ends = [("V", "MTE2"), ("MTE3", "V")]
    return module(
        kernel(
            "tail",
            f"%x: {whole}, %z: {whole}",
            *(number(name, value, "index") for name, value in (("n", n), ("tile", tile), ("by", tile * blocks))),
            number("three", 3.0, "f32"),
            number("at_a", 0),
            number("at_b", 4 * tile),
            '%block = "hivm.hir.get_block_idx"() : () -> i64',
            "%number = arith.index_cast %block : i64 to index",
            "%first = arith.muli %number, %tile : index",
            *(flag("set", *pipes, 0) for pipes in ends),
            "scf.for %offset = %first to %n step %by {",
            *(f"  {line}" for line in turn),
            "}",
            *(flag("wait", *pipes, 0) for pipes in ends),
        ),
        main("tail", whole, blocks, whole),
    )
