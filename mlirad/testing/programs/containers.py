"""Statements about tuples, lists, dicts and dataclasses of arrays and numbers.

Reads: the scope. Writes: one statement or a few. Leaves: control flow.
"""

from __future__ import annotations

from mlirad.testing.programs.kinds import Array, Float, Several
from mlirad.testing.programs.writer import Writer


class Containers(Writer):
    """Values that hold others; their items are places like names."""

    def write_tuple(self) -> None:
        self._make("tuple")

    def write_list(self) -> None:
        self._make("list")

    def write_dict(self) -> None:
        self._make("dict")

    def write_record(self) -> None:
        self._make("record")

    def _make(self, holder: str) -> None:
        rng, expressions = self.rng, self.expressions
        held = [(n, k) for n, k in expressions.scope.items() if isinstance(k, Several) and k.holder == holder]
        if held and rng.random() < 0.6:
            return self._change(*rng.choice(held))
        shape = rng.choice(expressions.shapes())
        second = rng.choice([Array(shape), Array(shape), Float(), Array(rng.choice(expressions.shapes()))])
        kind = Several(holder, (Array(shape), second))
        values = [
            expressions.view(each.shape) if isinstance(each, Array) else expressions.number(1) for each in kind.items
        ]
        if rng.random() < 0.3:
            values[0] = expressions.array(shape, 1)
        name = self.fresh("p")
        self.line(f"{name} = {kind.made(values)}")
        expressions.scope[name] = kind
        return self._change(name, kind)

    def _change(self, name: str, kind: Several) -> None:
        """One item changed in place, bound anew, or taken out; or the whole made again."""
        rng, expressions = self.rng, self.expressions
        number = rng.randrange(len(kind.items))
        place, item = kind.path(name, number), kind.items[number]
        choice = rng.random()
        if choice < 0.3 and isinstance(item, Array):
            self.line(f"{expressions.element(place, item.shape)} {rng.choice(['=', '+='])} {expressions.number(1)}")
        elif choice < 0.5:
            first, second = self.fresh("t"), self.fresh("t")
            if kind.holder in ("tuple", "list"):
                self.line(f"{first}, {second} = {name}")
            else:
                self.line(f"{first}, {second} = {kind.path(name, 0)}, {kind.path(name, 1)}")
            expressions.scope |= {first: kind.items[0], second: kind.items[1]}
        elif choice < 0.7 and kind.holder != "tuple":
            value = expressions.array(item.shape, 1) if isinstance(item, Array) else expressions.number(1)
            self.line(f"{place} = {value}")
        elif choice < 0.85 and name not in self.frozen:
            values = [kind.path(name, 0), kind.path(name, 1)]
            if kind.items[0] == kind.items[1] and rng.random() < 0.5:
                values.reverse()
            elif isinstance(item, Array):
                values[number] = expressions.array(item.shape, 1)
            else:
                values[number] = f"{place} * 0.5 + {expressions.number(0)}"
            self.line(f"{name} = {kind.made(values)}")
        elif isinstance(item, Float) and kind.holder != "tuple":
            self.line(f"{place} {rng.choice(['+=', '-='])} {expressions.number(1)}")
        else:
            self.write_something()
