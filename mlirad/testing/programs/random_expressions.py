"""Random expressions over the variables in scope.

Reads: the kinds of the variables. Writes: nothing. Leaves: Python source text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from mlirad.testing.programs.kinds import Array, Bool, Float, Int, Kind, Several, Shape, views

# Multiples of a power of two, so that sums and products are exact and ties stay ties on both sides.
_NUMBERS = ("0.5", "-0.5", "0.25", "1.5", "2.0", "-1.25", "1.0")
# Sums and products of such numbers never reach these: comparisons with them agree on both sides.
_THRESHOLDS = ("0.3", "-0.7", "1.1", "2.3", "-1.9")


@dataclass
class Expressions:
    """Expressions of a given kind and maximal depth. `smooth`: how often an inexact function is used."""

    rng: Random
    scope: dict[str, Kind] = field(default_factory=dict)
    smooth: float = 0.15

    def places(self) -> Iterator[tuple[str, Kind]]:
        """The readable places: names, and the items of names that hold several values."""
        for name, kind in self.scope.items():
            if isinstance(kind, Several):
                yield from ((kind.path(name, number), item) for number, item in enumerate(kind.items))
            else:
                yield name, kind

    def names(self, kind: type[Kind], shape: Shape | None = None, dtype: str = "float64") -> list[str]:
        return [
            name
            for name, held in self.places()
            if isinstance(held, kind)
            and (not isinstance(held, Array) or (held.dtype == dtype and shape in (None, held.shape)))
        ]

    def arrays(self, dtype: str = "float64") -> list[tuple[str, Shape]]:
        return [(name, kind.shape) for name, kind in self.places() if isinstance(kind, Array) and kind.dtype == dtype]

    # Ints.

    def integer(self) -> str:
        """A small int of any sign."""
        held = self.names(Int)
        if not held or self.rng.random() < 0.2:
            return str(self.rng.randrange(-2, 5))
        name = self.rng.choice(held)
        return self.rng.choice([name, name, f"{name} + 1", f"{name} * 2", f"{name} // 2", f"({name} - 3)"])

    def index(self, size: int) -> str:
        """A subscript that is (nearly always) in range."""
        rng = self.rng
        if rng.random() < 0.004:
            return str(rng.choice([size, -size - 1]))
        fits = [n for n, k in self.scope.items() if isinstance(k, Int) and -size <= k.low and k.high < size]
        if fits and rng.random() < 0.5:
            return rng.choice(fits)
        whole = self.names(Array, dtype="int64")
        if whole and rng.random() < 0.15:
            return f"{rng.choice(whole)}[{rng.randrange(-1, 2)}] % {size}"
        if self.names(Int) and rng.random() < 0.5:
            return f"({self.integer()}) % {size}"
        return str(rng.randrange(-size, size))

    def trips(self) -> str:
        """A range, from 0 upwards."""
        return f"range({self.rng.choice([*(n for n in self.names(Int) if self._most(n) <= 4), '3', '2'])})"

    def _most(self, name: str) -> int:
        kind = self.scope[name]
        return kind.high if isinstance(kind, Int) else 0

    def window(self) -> str:
        """The inside of a slice with a run-time length."""
        ints = self.names(Int)
        name = self.rng.choice(ints) if ints else "2"
        return self.rng.choice([f":{name}", f"{name}:", f":{name} + 1", f"-{name}:", f"{name}::2", f"{name}::-1"])

    def mask(self, shape: Shape) -> str:
        """A comparison of an array of this shape."""
        rng = self.rng
        tests = [f"{self.view(shape)} {rng.choice('<>')} {rng.choice(_THRESHOLDS)}" for _ in range(2)]
        return tests[0] if rng.random() < 0.8 else f"({tests[0]}) {rng.choice('&|')} ({tests[1]})"

    def indices(self, size: int) -> tuple[str, int]:
        """An array of indices of an axis, or a list; and how many there are. Some occur twice."""
        rng = self.rng
        whole = self.arrays("int64")
        if whole and rng.random() < 0.6:
            name, shape = rng.choice(whole)
            return f"{name} % {size}", shape[0]
        if self.names(Int) and rng.random() < 0.4:
            return f"[{self.index(size)}, {rng.randrange(size)}]", 2
        found = [str(rng.randrange(-size, size)) for _ in range(rng.choice([2, 3]))]
        return f"[{', '.join(found)}]", len(found)

    # Booleans.

    def condition(self, depth: int = 1) -> str:
        rng = self.rng
        held = self.names(Bool)
        choice = rng.random()
        if held and choice < 0.15:
            return rng.choice([rng.choice(held), f"not {rng.choice(held)}"])
        if self.names(Int) and choice < 0.4:
            return f"{self.integer()} {rng.choice(['<', '>', '==', '!=', '<=', '>='])} {self.integer()}"
        if depth and choice < 0.5:
            return f"{self.condition(0)} {rng.choice(['and', 'or'])} {self.condition(0)}"
        if choice < 0.6:
            return f"{rng.choice(_THRESHOLDS)} < {self.number(1)} <= {rng.choice(_THRESHOLDS)}"
        if self.names(Int) and choice < 0.66:
            low, high = rng.choice([("-1", "2"), ("0", "3"), (self.integer(), "3")])
            return f"{low} < {self.integer()} <= {high}"
        guarded = self._guarded() if depth and choice < 0.75 else None
        return guarded or f"{self.number(1)} {rng.choice(['<', '>'])} {rng.choice(_THRESHOLDS)}"

    def _guarded(self) -> str | None:
        """A test with a right side that may be evaluated only if the left side holds."""
        ints, vectors = self.names(Int), [(name, shape[0]) for name, shape in self.arrays() if len(shape) == 1]
        if not ints or not vectors:
            return None
        index, (name, size) = self.rng.choice(ints), self.rng.choice(vectors)
        threshold = self.rng.choice(_THRESHOLDS)
        return self.rng.choice(
            [
                f"0 <= {index} < {size} and {name}[{index}] > {threshold}",
                f"not 0 <= {index} < {size} or {name}[{index}] < {threshold}",
                f"(1 < {index} < {size} and {name}[{index}] > {threshold} or {name}[0] > {threshold})",
            ]
        )

    # Floats.

    def number(self, depth: int) -> str:
        """A float."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return self._plain_number()
        if rng.random() < self.smooth:
            inner = self.number(depth - 1)
            return rng.choice(
                [f"np.sin({inner})", f"np.tanh({inner})", f"np.exp(-abs({inner}))", f"np.sqrt(abs({inner}) + 0.5)"]
            )
        shape = rng.choice(self.shapes())
        match rng.randrange(11):
            case 8 | 9:
                return self._unusual(shape, depth)
            case 0:
                return f"({self.number(depth - 1)} {rng.choice('+-')} {self.number(depth - 1)})"
            case 1:
                return f"{self.number(depth - 1)} * {rng.choice(_NUMBERS)}"
            case 2:
                return f"0.25 * {self._plain_number()} * {self._plain_number()}"
            case 3:
                return f"np.sum({self.array(shape, depth - 1)}) * 0.25"
            case 4:
                vector = shape[-1:]
                return f"({self.array(vector, 0)} @ {self.array(vector, depth - 1)}) * 0.125"
            case 5:
                return f"np.max({self.array(shape, depth - 1)})"
            case 6:
                return f"abs({self.number(depth - 1)})"
            case 7:
                return f"({self.number(depth - 1)} if {self.condition(0)} else {self.number(depth - 1)})"
            case _:
                return f"{rng.choice(['max', 'min'])}({self.number(depth - 1)}, {self.number(depth - 1)})"

    def _unusual(self, shape: Shape, depth: int) -> str:
        """Numbers from slices with run-time lengths, float32, and NumPy ints."""
        rng = self.rng
        vectors = [name for name, held in self.arrays() if len(held) == 1]
        found = [f"np.sum({self.array(shape, depth - 1)} * {self.view(shape)}) * 0.25"]
        found += [f"float({name}[{rng.randrange(3)}])" for name, _ in self.arrays("float32")]
        found += [f"{name}[{rng.randrange(3)}] * {self._plain_number()}" for name, _ in self.arrays("float32")]
        found += [f"{name}[{rng.randrange(3)}] * 0.25" for name, _ in self.arrays("int64")]
        held = rng.choice(self.arrays() or [("np.ones(3)", (3,))])
        found.append(f"np.sum({held[0]}[{self.mask(held[1])}]) * 0.5")
        if vectors and self.names(Int):
            name, where = rng.choice(vectors), self.window()
            found += [f"np.sum({name}[{where}]) * 0.5", f"({name}[{where}] @ {name}[{where}]) * 0.25"]
        return rng.choice(found)

    def _plain_number(self) -> str:
        rng = self.rng
        choice = rng.random()
        held = self.names(Float)
        if held and choice < 0.45:
            return rng.choice(held)
        arrays = self.arrays()
        if arrays and choice < 0.85:
            return self.element(*rng.choice(arrays))
        if self.names(Int) and choice < 0.92:
            return f"{rng.choice(self.names(Int))} * 0.5"
        return rng.choice(_NUMBERS)

    def element(self, name: str, shape: Shape) -> str:
        """One element of an array, as a target too."""
        if len(shape) == 2 and self.rng.random() < 0.2:
            return f"{name}[{self.index(shape[0])}][{self.index(shape[1])}]"
        return f"{name}[{', '.join(self.index(size) for size in shape)}]"

    # Arrays of doubles.

    def shapes(self) -> list[Shape]:
        return [shape for _, shape in self.arrays()] or [(3,)]

    def array(self, shape: Shape, depth: int) -> str:
        """An array of doubles of this shape: new, or one in scope, or a view."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            return self.view(shape)
        if rng.random() < self.smooth:
            inner = self.array(shape, depth - 1)
            return rng.choice([f"np.sin({inner})", f"np.tanh({inner})", f"np.exp(-np.abs({inner}))"])
        match rng.randrange(10):
            case 8:
                single = self.names(Array, shape, "float32")
                return (
                    f"({rng.choice(single)} * {self.view(shape)})" if single else f"abs({self.array(shape, depth - 1)})"
                )
            case 0 | 1:
                return f"({self.array(shape, depth - 1)} {rng.choice('+-')} {self.array(shape, depth - 1)})"
            case 2:
                return f"(0.25 * {self.view(shape)} * {self.view(shape)})"
            case 3:
                return f"({self.array(shape, depth - 1)} * {self.number(depth - 1)})"
            case 4:
                return f"np.maximum({self.array(shape, depth - 1)}, {self.array(shape, 0)})"
            case 5:
                test = f"{self.view(shape)} {rng.choice('<>')} {rng.choice(_THRESHOLDS)}"
                return f"np.where({test}, {self.array(shape, depth - 1)}, {self.view(shape)})"
            case 6:
                return self.broadcast(shape, depth)
            case 7:
                return self.reduced(shape, depth)
            case _:
                return f"-{self.view(shape)}"

    def broadcast(self, shape: Shape, depth: int) -> str:
        if len(shape) == 2:
            column = self.array(shape[:1], depth - 1)
            return f"({column})[:, None] * {self.array(shape[1:], 0)}"
        return f"({self.array(shape, depth - 1)} + {self.number(0)})"

    def reduced(self, shape: Shape, depth: int) -> str:
        """A reduction or a product with this shape, if an array fits."""
        found: list[str] = []
        for name, other in self.arrays():
            if len(other) == 2 and shape == other[1:]:
                found += [f"(np.sum({name}, axis=0) * 0.5)", f"np.max({name}, axis=0)"]
                found.append(f"(0.25 * ({self.array(other[:1], 0)} @ {name}))")
            if len(other) == 2 and shape == other[:1]:
                found += [f"(np.sum({name}, axis=1) * 0.5)", f"(0.25 * ({name} @ {self.array(other[1:], 0)}))"]
            if len(shape) == 2 and len(other) == 2 and shape == (other[0], other[0]):
                found.append(f"(0.125 * ({name} @ {name}.T))")
        return self.rng.choice(found) if found else self.array(shape, depth - 1)

    def view(self, shape: Shape) -> str:
        """An array in scope of this shape, or a view of one, or else a new one."""
        found: list[str] = []
        for name, other in self.arrays():
            found += [name] * 2 if other == shape else []
            found += views(self.rng, name, other, shape)
            found += self.moving(name, other, shape)
        return self.rng.choice(found) if found else f"np.full({shape}, {self._plain_number()})"

    def moving(self, name: str, source: Shape, shape: Shape) -> list[str]:
        """Views whose place depends on an int: rows, and windows of a fixed length."""
        ints = self.names(Int)
        if not ints or self.rng.random() < 0.5:
            return []
        if len(source) == 2 and shape == source[1:]:
            return [f"{name}[{self.index(source[0])}]"]
        if len(source) == 2 and shape == source[:1]:
            return [f"{name}[:, {self.index(source[1])}]"]
        if len(source) == len(shape) == 1 and shape[0] < source[0]:
            room = source[0] - shape[0]
            fits = [n for n in ints if (k := self.scope[n]) and isinstance(k, Int) and k.low >= 0 and k.high <= room]
            if fits:
                start = self.rng.choice(fits)
                return [f"{name}[{start}:{start} + {shape[0]}]"]
        return []
