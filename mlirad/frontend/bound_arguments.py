"""Turns the signature of a call into the values of a compiled function's arguments.

Reads: a signature, aliases, the captures found so far. Writes: arguments of the function's block; names and arrays in
the state. Leaves: values for the parameters, and which leaf or capture each argument of the block is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block

from mlirad import tree
from mlirad.contract.captures import Capture
from mlirad.contract.results import ArgumentAlias, CaptureAlias
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.frontend.aliases import Alias
from mlirad.frontend.changed_containers import CallersContainers
from mlirad.frontend.interpreter import outside_objects
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.numpy_strides import strides_of
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Alternative, Ref, Static, Tuple, Value
from mlirad.frontend.values.views.view import View
from mlirad.signature import ArrayLeaf, ScalarLeaf, Signature


@dataclass(eq=False)
class BoundArguments:
    """aliases, together: as in `build`. keys: for each argument of the block, the number of its leaf, or -1 - k for
    capture k. containers: the caller's lists, dicts and dataclasses."""

    context: Context
    signature: Signature
    aliases: Mapping[int, Alias]
    together: Sequence[Sequence[int]]
    captures: Sequence[Capture]
    keys: list[int] = field(default_factory=list)
    containers: CallersContainers = field(init=False)

    def __post_init__(self) -> None:
        self.containers = CallersContainers(self.context)

    def bind(self, block: Block) -> tuple[list[Value], dict[str, Value]]:
        """Return the positional and named arguments as values, and bind the captures."""
        values = [self.leaf(block, number) for number in range(len(self.signature.leaves))]
        for number, capture in enumerate(self.captures):
            self.capture(block, number, capture)
        self.bind_aliases(values)
        leaves = iter(values)
        structure = self.signature.structure
        assert isinstance(structure, tree.Node)
        positional, named = structure.children
        assert isinstance(positional, tree.Node) and isinstance(named, tree.Node)
        args = [self.value_of(child, leaves) for child in positional.children]
        kwargs = {
            str(key): self.value_of(child, leaves) for key, child in zip(named.keys or (), named.children, strict=True)
        }
        return args, kwargs

    def capture(self, block: Block, number: int, capture: Capture) -> None:
        if -1 - number not in self.aliases:
            leaf = capture.leaf
            argument = block.insert_arg(types.tensor(leaf.shape, types.from_dtype(leaf.dtype)), len(block.args))
            self.keys.append(-1 - number)
            outside_objects.hidden_argument(self.context, capture, Expr(argument))

    def bind_aliases(self, values: list[Value]) -> None:
        """Bind the arguments that are views of others, once those are bound."""
        context = self.context
        names = context.state.frames[0]

        def name_of_argument(key: int) -> str:
            return f"$argument {key}" if key >= 0 else self.captures[-1 - key].name

        for group in self.together:
            context.memory.update({name_of_argument(key): frozenset({("together", *group)}) for key in group})

        for key, alias in self.aliases.items():
            base = names[name_of_argument(alias.base)]
            assert isinstance(base, Ref)
            array = Ref((Alternative(base.alternatives[0].cell, alias.view),))
            names[name_of_argument(key)] = array
            if key >= 0:
                values[key] = array

    def leaf(self, block: Block, number: int) -> Value:
        leaf = self.signature.leaves[number]
        context = self.context
        if isinstance(leaf, ScalarLeaf):
            argument = block.insert_arg(types.from_dtype(leaf.dtype), len(block.args))
            self.keys.append(number)
            return Traced(Expr(argument), weak=leaf.weak, origins=frozenset({("argument", number)}))
        if isinstance(leaf, ArrayLeaf):
            if number in self.aliases:
                return Static(None)  # until its base is bound
            argument = block.insert_arg(types.tensor(leaf.shape, types.from_dtype(leaf.dtype)), len(block.args))
            self.keys.append(number)
            cell = context.fresh()
            context.state.store[cell] = Expr(argument)
            view = View.of(leaf.shape, leaf.dtype, strides_of(leaf), leaf.readonly)
            array = Ref((Alternative(cell, view),))
            context.state.frames[0][f"$argument {number}"] = array
            return array
        return outside_objects.object_value(context, leaf.value, None)

    def value_of(self, structure: tree.Structure, leaves: Iterator[Value]) -> Value:
        if isinstance(structure, tree.Leaf):
            return next(leaves)
        number = -1 if issubclass(structure.kind, tuple) else self.containers.number()
        items = tuple(self.value_of(child, leaves) for child in structure.children)
        if issubclass(structure.kind, tuple):
            return Tuple(items, structure.kind)
        keys = tuple(range(len(items))) if structure.keys is None else structure.keys
        return self.containers.new(structure.kind, keys, items, number)

    def arrays_of_caller(self) -> list[tuple[ArgumentAlias | CaptureAlias, Ref]]:
        """The arrays that the caller can see, in their final state."""
        found: list[tuple[ArgumentAlias | CaptureAlias, Ref]] = []
        names = self.context.state.frames[0]
        for number, leaf in enumerate(self.signature.leaves):
            if isinstance(leaf, ArrayLeaf):
                value = names[f"$argument {number}"]
                assert isinstance(value, Ref)
                found.append((ArgumentAlias(number), value))
        for number, capture in enumerate(self.captures):
            value = names[capture.name]
            assert isinstance(value, Ref)
            found.append((CaptureAlias(number), value))
        return found
