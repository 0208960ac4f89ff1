"""Cells: objects that compute by `construct`, and hold parameters and other cells.

Reads: the attributes of cells. Writes: the names of parameters. Leaves: the results of `construct`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlirad
from mlirad.interop.mindspore.bprop import WithRule
from mlirad.interop.mindspore.modes import GRAPH_MODE, compiled, get_context, run
from mlirad.interop.mindspore.tensors import Parameter


class Cell(WithRule):
    """The base of networks: `construct(*inputs)` computes, over parameters and cells in attributes.

    A call is compiled in GRAPH_MODE, and plain Python otherwise. A method `bprop(*inputs, out, dout)` is a rule for
    its derivative.
    """

    def __init__(self) -> None:
        super().__init__()
        self.training, self._recomputes = False, False

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_rule" and "_rule" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__}.__init__ begins with super().__init__(), before self.{name} = ..."
            )
        super().__setattr__(name, value)

    def _find_rule(self) -> None:
        super()._find_rule()
        if hasattr(self, "bprop"):
            self._take(lambda cell: cell.bprop)

    def __call__(self, *args: Any) -> Any:
        return _called(self, *args)

    def recompute(self) -> Cell:
        """Let the reverse sweep run this cell again instead of storing its intermediate results."""
        self._recomputes = True
        return self

    def set_train(self, mode: bool = True) -> Cell:
        for each in self.cells():
            each.set_train(mode)
        self.training = mode
        return self

    def cells(self) -> Iterator[Cell]:
        """The cells in its attributes, and in lists and tuples of them."""
        return (each for _, each in _parts(self) if isinstance(each, Cell))

    def get_parameters(self) -> list[Parameter]:
        """All parameters, each once. A parameter without a name is named after its place."""
        return list(dict.fromkeys(each for each in _named(self, "")))

    def trainable_params(self) -> list[Parameter]:
        """The parameters that training changes, which have requires_grad."""
        return [each for each in self.get_parameters() if each.requires_grad]


class _Called:
    """A call of a cell: in compiled code a call of `construct`, else a run in the current mode."""

    def __call__(self, cell: Cell, *args: Any) -> Any:
        if get_context("mode") != GRAPH_MODE:
            return cell.construct(*args)
        return run(compiled(cell.construct), *args)  # nothing asks for its derivative

    @staticmethod
    def __mlirad_function__(cell: Cell, *args: Any) -> Any:
        function = cell.construct if cell._rule is None else cell._rule
        return mlirad.checkpoint(function)(*args) if cell._recomputes else function(*args)


_called = _Called()


def _parts(cell: Cell) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cell).items():
        yield name, value
        if isinstance(value, list | tuple) and not isinstance(cell, SequentialCell):
            yield from ((f"{name}.{number}", each) for number, each in enumerate(value))


def _named(cell: Cell, prefix: str) -> Iterator[Parameter]:
    for name, value in _parts(cell):
        if isinstance(value, Parameter):
            value.name = value.name or f"{prefix}{name}"
            yield value
        elif isinstance(value, Cell):
            yield from _named(value, f"{prefix}{name}.")


class SequentialCell(Cell):
    """Cells, each called with the result of the one before it."""

    def __init__(self, *cells: Any):
        super().__init__()
        self.cell_list = list(cells[0] if len(cells) == 1 and isinstance(cells[0], list | tuple) else cells)
        for number, cell in enumerate(self.cell_list):
            setattr(self, str(number), cell)

    def construct(self, x: Any) -> Any:
        for cell in self.cell_list:
            x = cell(x)
        return x
