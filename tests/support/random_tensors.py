"""Reads: a seed. Writes: the text of a function of stage `linalg` that computes with whatever tensors are in sight.

Its loops carry, swap, remake and duplicate tensors, its branches yield what they please. Elements are i64, so that all
orders of evaluation agree. Leaves: nothing uninitialised is read, and no index is out of range.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

SHAPES: tuple[tuple[int, ...], ...] = ((4,), (2, 4), (8,), (3, 3), (3,), (2, 2))
ARGUMENTS = ((4,), (4,), (2, 4), (3, 3), (8,))


def tensor_type(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}i64>"


def maps(*results: str, dims: int) -> str:
    names = ", ".join(f"d{number}" for number in range(dims))
    return ", ".join(f"affine_map<({names}) -> ({result})>" for result in results)


class RandomFunction:
    """One program; `text` is the module."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.indent = 1
        self.tensors: list[tuple[str, tuple[int, ...]]] = []
        self.scalars: list[str] = []
        # Loop counters: any number, made an index by remainder.
        self.counters: list[str] = []
        self.text = self._function()

    def _function(self) -> str:
        random = self.random
        for number, shape in enumerate(ARGUMENTS):
            self.tensors.append((f"%arg{number}", shape))
        for value in range(9):
            self.line(f"%c{value} = arith.constant {value} : i64")
            self.line(f"%i{value} = arith.constant {value} : index")
        self.scalars += ["%s", "%c1", "%c3"]
        self.block(random.randint(4, 10), depth=0)
        self.observe(3)
        results = [self.pick(shape) for shape in random.choices(ARGUMENTS, k=random.randint(0, 2))]
        tied = [number for number in range(len(ARGUMENTS)) if random.random() < 0.4]
        outputs: list[tuple[str, str]] = [(name, tensor_type(shape)) for name, shape in results]
        written: dict[int, int] = {}
        for number in tied:
            written[number] = len(outputs)
            outputs.append((self.pick(ARGUMENTS[number])[0], tensor_type(ARGUMENTS[number])))
        outputs.append((self.total(0), "i64"))
        names = ", ".join(name for name, _ in outputs)
        types = ", ".join(type for _, type in outputs)
        arguments = ", ".join(
            f"%arg{number}: {tensor_type(shape)}"
            + (f" {{mlirad.written = {written[number]} : i64}}" if number in written else "")
            for number, shape in enumerate(ARGUMENTS)
        )
        body = "\n".join(self.lines)
        return (
            "func.func private @mlirad_grow_i64(tensor<?xi64>, index) -> tensor<?xi64>\n"
            f"func.func public @f({arguments}, %s: i64, %n: i64) -> ({types}) {{\n"
            f"{body}\n  return {names} : {types}\n}}\n"
        )

    # Text.

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def op(self, text: str, shape: tuple[int, ...] | None = None) -> str:
        name = self.name()
        self.line(f"{name} = {text}")
        if shape is not None:
            self.tensors.append((name, shape))
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        saved = len(self.tensors), len(self.scalars), len(self.counters)
        self.indent += 1
        yield
        self.indent -= 1
        del self.tensors[saved[0] :], self.scalars[saved[1] :], self.counters[saved[2] :]

    # Choices.

    def pick(self, shape: tuple[int, ...] | None = None) -> tuple[str, tuple[int, ...]]:
        """A tensor in sight, most likely a late one."""
        found = [entry for entry in self.tensors if shape is None or entry[1] == shape]
        late = found[-4:] if self.random.random() < 0.7 else found
        return self.random.choice(late)

    def index(self, size: int) -> str:
        if self.counters and self.random.random() < 0.7:
            counter = self.op(f"arith.remsi {self.random.choice(self.counters)}, %c{size} : i64")
            return self.op(f"arith.index_cast {counter} : i64 to index")
        return f"%i{self.random.randrange(size)}"

    def indices(self, shape: tuple[int, ...]) -> str:
        return ", ".join([self.index(size) for size in shape])

    def observe(self, number: int) -> None:
        """Elements of some tensors, old ones too, become part of what is computed."""
        for _ in range(number):
            name, shape = self.random.choice(self.tensors)
            self.scalars.append(self.op(f"tensor.extract {name}[{self.indices(shape)}] : {tensor_type(shape)}"))

    def total(self, first: int) -> str:
        """A number that all scalars from the `first` on have a part in."""
        total, *others = self.scalars[first:] or self.scalars[-1:]
        for scalar in others:
            tripled = self.op(f"arith.muli {total}, %c3 : i64")
            total = self.op(f"arith.addi {tripled}, {scalar} : i64")
        return total

    # Statements.

    def block(self, length: int, depth: int) -> None:
        simple = [
            self.extract,
            self.insert,
            self.insert,
            self.elementwise,
            self.elementwise,
            self.contract,
            self.fill,
            self.slices,
            self.slices,
            self.change_slice,
            self.change_slice,
            self.thin_slices,
            self.reshape,
            self.make,
            self.gather,
            self.gather,
            self.transpose,
            lambda: self.observe(1),
            lambda: self.observe(2),
        ]
        for _ in range(length):
            if depth < 3 and self.random.random() < 0.35:
                self.random.choice([self.for_, self.for_, self.while_, self.if_, self.if_, self.tape])(depth)
            else:
                self.random.choice(simple)()

    def extract(self) -> None:
        name, shape = self.pick()
        self.scalars.append(self.op(f"tensor.extract {name}[{self.indices(shape)}] : {tensor_type(shape)}"))

    def insert(self) -> None:
        name, shape = self.pick()
        scalar = self.random.choice(self.scalars[-4:])
        self.op(f"tensor.insert {scalar} into {name}[{self.indices(shape)}] : {tensor_type(shape)}", shape)

    def empty(self, shape: tuple[int, ...]) -> str:
        """The destination of a result that is not read first: most often new memory."""
        if self.random.random() < 0.15:
            return self.pick(shape)[0] if any(other == shape for _, other in self.tensors) else self.empty(shape)
        return self.op(f"tensor.empty() : {tensor_type(shape)}")

    def generic(
        self, access: str, iterators: int, ins: list[tuple[str, str]], out: str, shape: tuple[int, ...], body: list[str]
    ) -> None:
        kinds = ", ".join(['"parallel"'] * len(shape) + ['"reduction"'] * (iterators - len(shape)))
        type = tensor_type(shape)
        names = ", ".join(name for name, _ in ins)
        types = ", ".join(kind for _, kind in ins)
        taken = f" ins({names} : {types})" if ins else ""
        args = ", ".join(f"%b{number}: i64" for number in range(len(ins) + 1))
        self.op(
            f"linalg.generic {{indexing_maps = [{access}], iterator_types = [{kinds}]}}{taken} outs({out} : {type}) {{",
            shape,
        )
        self.line(f"^bb0({args}):")
        for text in body:
            self.line(f"  {text}")
        self.line(f"}} -> {type}")

    def elementwise(self) -> None:
        first, shape = self.pick()
        dims = ", ".join(f"d{number}" for number in range(len(shape)))
        type = tensor_type(shape)
        ins = [(name, type) for name in [first, self.pick(shape)[0]][: self.random.randint(1, 2)]]
        combine = self.random.choice(["addi", "muli", "subi"])
        second = "%b1" if len(ins) > 1 else "%c3"
        body = [f"%r = arith.{combine} %b0, {second} : i64"]
        if self.random.random() < 0.3:
            # Reads what the output held.
            out = self.pick(shape)[0]
            body += [f"%q = arith.addi %r, %b{len(ins)} : i64", "linalg.yield %q : i64"]
        else:
            out = self.empty(shape)
            body.append("linalg.yield %r : i64")
        access = maps(*[dims] * (len(ins) + 1), dims=len(shape))
        self.generic(access, len(shape), ins, out, shape, body)

    def transpose(self) -> None:
        name, _ = self.pick((3, 3))
        other, _ = self.pick((3, 3))
        access = maps("d1, d0", "d0, d1", "d0, d1", dims=2)
        ins = [(name, "tensor<3x3xi64>"), (other, "tensor<3x3xi64>")]
        body = ["%r = arith.subi %b0, %b1 : i64", "linalg.yield %r : i64"]
        self.generic(access, 2, ins, self.empty((3, 3)), (3, 3), body)

    def contract(self) -> None:
        """A matrix and a vector: the vector is read many times."""
        if not any(shape == (3,) for _, shape in self.tensors):
            self.op("arith.constant dense<[1, -2, 5]> : tensor<3xi64>", (3,))
        matrix, vector, start = self.pick((3, 3))[0], self.pick((3,))[0], self.pick((3,))[0]
        if self.random.random() < 0.5:
            memory = self.op("tensor.empty() : tensor<3xi64>")
            start = self.op(f"linalg.fill ins(%c0 : i64) outs({memory} : tensor<3xi64>) -> tensor<3xi64>")
        access = maps("d0, d1", "d1", "d0", dims=2)
        ins = [(matrix, "tensor<3x3xi64>"), (vector, "tensor<3xi64>")]
        body = ["%r = arith.muli %b0, %b1 : i64", "%q = arith.addi %r, %b2 : i64", "linalg.yield %q : i64"]
        self.generic(access, 2, ins, start, (3,), body)

    def gather(self) -> None:
        """An array backwards: elements are read by subscript in the body."""
        name, _ = self.pick((4,))
        body = [
            "%k = linalg.index 0 : index",
            "%m = arith.subi %i3, %k : index",
            f"%e = tensor.extract {name}[%m] : tensor<4xi64>",
        ]
        if self.random.random() < 0.5:
            other = self.pick((4,))[0] if self.random.random() < 0.5 else name
            ins = [(other, "tensor<4xi64>")]
            body += ["%r = arith.addi %b0, %e : i64", "linalg.yield %r : i64"]
        else:
            ins = []
            body.append("linalg.yield %e : i64")
        access = maps(*["d0"] * (len(ins) + 1), dims=1)
        self.generic(access, 1, ins, self.empty((4,)), (4,), body)

    def fill(self) -> None:
        shape = self.random.choice(SHAPES)
        out, type = self.empty(shape), tensor_type(shape)
        scalar = self.random.choice(self.scalars)
        self.op(f"linalg.fill ins({scalar} : i64) outs({out} : {type}) -> {type}", shape)

    def make(self) -> None:
        shape = self.random.choice(SHAPES)
        type = tensor_type(shape)
        match self.random.randrange(4):
            case 0:
                self.op(f"arith.constant dense<7> : {type}", shape)
            case 1:
                self.op("arith.constant dense<[1, -2, 5]> : tensor<3xi64>", (3,))
            case 2:
                names = ", ".join(self.random.choices(self.scalars, k=4))
                self.op(f"tensor.from_elements {names} : tensor<4xi64>", (4,))
            case _:
                self.op(f"tensor.splat {self.random.choice(self.scalars)} : {type}", shape)

    def slice_of(self, big: tuple[int, ...], small: tuple[int, ...]) -> str | None:
        """A random place for `small` in `big`."""
        random = self.random
        if big == (2, 4) and small == (4,):
            return f"[{self.index(2)}, {random.choice(['0', '%i0'])}] [1, 4] [1, 1]"
        if big == (8,) and small == (4,):
            start, stride = random.choice([("0", 1), ("3", 1), (self.index(5), 1), ("7", -2), ("0", 2), ("3", -1)])
            return f"[{start}] [4] [{stride}]"
        if big == (3, 3) and small == (3,):
            return random.choice(
                [f"[{self.index(3)}, 0] [1, 3] [1, 1]", f"[0, {self.index(3)}] [3, 1] [1, 1]", "[0, 2] [3, 1] [1, 1]"]
            )
        if big == (4,) and small == (3,):
            return random.choice(["[0] [3] [1]", "[1] [3] [1]", "[3] [3] [-1]"])
        return None

    def slices(self) -> None:
        pairs = [((2, 4), (4,)), ((8,), (4,)), ((3, 3), (3,)), ((4,), (3,))]
        big, small = self.random.choice(pairs)
        place = self.slice_of(big, small)
        name = self.pick(big)[0]
        if self.random.random() < 0.5 and any(shape == small for _, shape in self.tensors):
            source = self.pick(small)[0]
            self.op(
                f"tensor.insert_slice {source} into {name}{place} : {tensor_type(small)} into {tensor_type(big)}", big
            )
        else:
            self.op(f"tensor.extract_slice {name}{place} : {tensor_type(big)} to {tensor_type(small)}", small)

    def thin_slices(self) -> None:
        """A row or column as nd ops write it: a slice with a dimension of size 1, that a reshape takes away or adds."""
        big, place, thin, small = self.random.choice(
            [
                ((2, 4), f"[{self.index(2)}, 0] [1, 4] [1, 1]", (1, 4), (4,)),
                ((3, 3), f"[0, {self.index(3)}] [3, 1] [1, 1]", (3, 1), (3,)),
                ((3, 3), f"[{self.index(3)}, 2] [1, 3] [1, -1]", (1, 3), (3,)),
            ]
        )
        name = self.pick(big)[0]
        types = tensor_type(big), tensor_type(thin), tensor_type(small)
        flat = self.op(f"tensor.extract_slice {name}{place} : {types[0]} to {types[1]}")
        self.op(f"tensor.collapse_shape {flat} [[0, 1]] : {types[1]} into {types[2]}", small)
        if self.random.random() < 0.6:
            self.random.choice([self.insert, self.elementwise, self.extract])()
            source = self.pick(small)[0]
            shape = ", ".join(map(str, thin))
            wide = self.op(f"tensor.expand_shape {source} [[0, 1]] output_shape [{shape}] : {types[2]} into {types[1]}")
            self.op(f"tensor.insert_slice {wide} into {name}{place} : {types[1]} into {types[0]}", big)

    def change_slice(self) -> None:
        """A slice read, changed and put back, at the same place or another one."""
        big, small = self.random.choice([((2, 4), (4,)), ((8,), (4,)), ((3, 3), (3,))])
        place, (name, _) = self.slice_of(big, small), self.pick(big)
        self.op(f"tensor.extract_slice {name}{place} : {tensor_type(big)} to {tensor_type(small)}", small)
        for _ in range(self.random.randint(1, 2)):
            self.random.choice([self.insert, self.elementwise])()
        if self.random.random() < 0.3:
            self.op(f"tensor.extract_slice {name}{place} : {tensor_type(big)} to {tensor_type(small)}", small)
            self.elementwise()
        if self.random.random() < 0.4:
            place = self.slice_of(big, small)
        source = self.pick(small)[0]
        self.op(f"tensor.insert_slice {source} into {name}{place} : {tensor_type(small)} into {tensor_type(big)}", big)

    def reshape(self) -> None:
        match self.random.randrange(6):
            case 4:
                name, _ = self.pick((4,))
                self.op(
                    f"tensor.expand_shape {name} [[0, 1]] output_shape [2, 2] : tensor<4xi64> into tensor<2x2xi64>",
                    (2, 2),
                )
            case 5 if any(shape == (2, 2) for _, shape in self.tensors):
                name, _ = self.pick((2, 2))
                self.op(f"tensor.collapse_shape {name} [[0, 1]] : tensor<2x2xi64> into tensor<4xi64>", (4,))
            case 0:
                name, _ = self.pick((2, 4))
                self.op(f"tensor.collapse_shape {name} [[0, 1]] : tensor<2x4xi64> into tensor<8xi64>", (8,))
            case 1:
                name, _ = self.pick((8,))
                self.op(
                    f"tensor.expand_shape {name} [[0, 1]] output_shape [2, 4] : tensor<8xi64> into tensor<2x4xi64>",
                    (2, 4),
                )
            case 2:
                name, _ = self.pick((2, 4))
                shape = self.op("arith.constant dense<[8]> : tensor<1xi64>")
                self.op(f"tensor.reshape {name}({shape}) : (tensor<2x4xi64>, tensor<1xi64>) -> tensor<8xi64>", (8,))
            case _:
                name, _ = self.pick((4,))
                wide = self.op(f"tensor.cast {name} : tensor<4xi64> to tensor<?xi64>")
                self.op(f"tensor.cast {wide} : tensor<?xi64> to tensor<4xi64>", (4,))

    def carried(self) -> list[tuple[str, tuple[int, ...]]]:
        """The initial values of a loop: tensors of one or two shapes, so that they may be swapped."""
        shapes = self.random.choices([(4,), (4,), (8,), (3,), (2, 4), (2, 2)], k=2)
        chosen = [self.random.choice(shapes) for _ in range(self.random.randint(0, 3))]
        return [self.pick(shape) for shape in chosen if any(other == shape for _, other in self.tensors)]

    def results(self, name: str, carried: list[tuple[str, tuple[int, ...]]]) -> list[str]:
        """The names of a structured op's results; the one after the tensors is a scalar."""
        names = [f"{name}#{number}" for number in range(len(carried) + 1)]
        self.tensors += [(result, shape) for result, (_, shape) in zip(names, carried, strict=False)]
        self.scalars.append(names[-1])
        return names

    def yielded(self, carried: list[tuple[str, tuple[int, ...]]], first: int) -> str:
        """Tensors of the carried shapes, and the total of the scalars from the `first` on."""
        self.observe(self.random.randint(0, 2))
        return ", ".join([self.pick(shape)[0] for _, shape in carried] + [self.total(first)])

    def for_(self, depth: int) -> None:
        carried, name = self.carried(), self.name()
        args = [(f"{name}_{number}", shape) for number, (_, shape) in enumerate(carried)]
        scalar = self.random.choice(self.scalars)
        inits = ", ".join(
            [f"{arg} = {init}" for (arg, _), (init, _) in zip(args, carried, strict=True)] + [f"{name}_s = {scalar}"]
        )
        types = ", ".join([tensor_type(shape) for _, shape in carried] + ["i64"])
        count = self.random.choice(["%n", "%c0", "%c1", "%c2", "%c3"])
        self.line(
            f"{name}:{len(carried) + 1} = scf.for {name}_q = %c0 to {count} step %c1"
            f" iter_args({inits}) -> ({types}) : i64 {{"
        )
        with self.scope():
            self.tensors += args
            first = len(self.scalars)
            self.scalars.append(f"{name}_s")
            self.counters.append(f"{name}_q")
            self.block(self.random.randint(1, 5), depth + 1)
            self.line(f"scf.yield {self.yielded(carried, first)} : {types}")
        self.line("}")
        self.results(name, carried)

    def while_(self, depth: int) -> None:
        carried, name = self.carried(), self.name()
        args = [(f"{name}_{number}", shape) for number, (_, shape) in enumerate(carried)]
        types = ", ".join([tensor_type(shape) for _, shape in carried] + ["i64", "i64"])
        starts = [init for init, _ in carried] + [self.scalars[-1], "%c0"]
        names = [arg for arg, _ in args] + [f"{name}_s", f"{name}_q"]
        inits = ", ".join(f"{arg} = {init}" for arg, init in zip(names, starts, strict=True))
        self.line(f"{name}:{len(carried) + 2} = scf.while ({inits}) : ({types}) -> ({types}) {{")
        with self.scope():
            self.line(f"%go = arith.cmpi slt, {name}_q, %c{self.random.randint(0, 3)} : i64")
            self.line(f"scf.condition(%go) {', '.join(names)} : {types}")
        self.line("} do {")
        with self.scope():
            body = [f"{name}_b{number}" for number in range(len(names))]
            kinds = [tensor_type(shape) for _, shape in carried] + ["i64", "i64"]
            self.line("^bb0(" + ", ".join(f"{arg}: {kind}" for arg, kind in zip(body, kinds, strict=True)) + "):")
            self.tensors += [(arg, shape) for arg, (_, shape) in zip(body, carried, strict=False)]
            self.counters.append(body[-1])
            first = len(self.scalars)
            self.scalars.append(body[-2])
            self.block(self.random.randint(1, 5), depth + 1)
            following = self.op(f"arith.addi {body[-1]}, %c1 : i64")
            self.line(f"scf.yield {self.yielded(carried, first)}, {following} : {types}")
        self.line("}")
        self.results(name, carried)

    def if_(self, depth: int) -> None:
        carried = self.carried()
        scalar = self.random.choice(self.scalars)
        odd = self.op(f"arith.andi {scalar}, %c1 : i64")
        condition = self.op(f"arith.cmpi eq, {odd}, %c1 : i64")
        types = ", ".join([tensor_type(shape) for _, shape in carried] + ["i64"])
        name = self.name()
        self.line(f"{name}:{len(carried) + 1} = scf.if {condition} -> ({types}) {{")
        for keyword in ("} else {", "}"):
            with self.scope():
                first = len(self.scalars)
                self.block(self.random.choice([0, 1, 2, 3]), depth + 1)
                self.line(f"scf.yield {self.yielded(carried, first)} : {types}")
            self.line(keyword)
        self.results(name, carried)

    def tape(self, depth: int) -> None:
        """A loop that writes a growing array once a trip, and one that reads it backwards."""
        memory, written, read = self.name(), self.name(), self.name()
        size = self.random.choice(["%i1", "%i4"])
        self.line(f"{memory} = tensor.empty({size}) : tensor<?xi64>")
        type = "tensor<?xi64>"
        self.line(
            f"{written} = scf.for {written}_q = %c0 to %n step %c1"
            f" iter_args({written}_t = {memory}) -> ({type}) : i64 {{"
        )
        with self.scope():
            self.counters.append(f"{written}_q")
            self.extract()
            place = self.op(f"arith.index_cast {written}_q : i64 to index")
            grown = self.op(f"func.call @mlirad_grow_i64({written}_t, {place}) : ({type}, index) -> {type}")
            new = self.op(f"tensor.insert {self.scalars[-1]} into {grown}[{place}] : {type}")
            self.line(f"scf.yield {new} : {type}")
        self.line("}")
        self.line(f"{read} = scf.for {read}_q = %c0 to %n step %c1 iter_args({read}_s = %s) -> (i64) : i64 {{")
        with self.scope():
            last = self.op("arith.subi %n, %c1 : i64")
            back = self.op(f"arith.subi {last}, {read}_q : i64")
            place = self.op(f"arith.index_cast {back} : i64 to index")
            element = self.op(f"tensor.extract {written}[{place}] : {type}")
            total = self.op(f"arith.addi {read}_s, {element} : i64")
            self.line(f"scf.yield {total} : i64")
        self.line("}")
        self.scalars.append(read)
