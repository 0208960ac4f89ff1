"""What a compiled function returns: the structure, and the result of the func.func for each leaf.

Reads: a value. Writes: the module's further entry points. Leaves: the description of each leaf.
"""

from __future__ import annotations

from types import FunctionType as PythonFunction
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Region

from mlirad import tree
from mlirad.contract.results import (
    ArrayResult,
    PullbackEntry,
    ResidualsResult,
    ResultLeaf,
    SameResult,
    ScalarResult,
    StaticResult,
)
from mlirad.dialect.core.expr import Expr, building, insert
from mlirad.frontend.bound_arguments import BoundArguments
from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.calls.construction import is_made_of_its_items
from mlirad.frontend.interpreter.calls.outlining import plain_results
from mlirad.frontend.interpreter.calls.transforms.linear_requests import Linearized
from mlirad.frontend.interpreter.calls.transforms.two_sweeps import PulledBack
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.program.purity import SetCopy
from mlirad.frontend.returned_arrays import SHAPE_OF_RESULT, ReturnedArrays
from mlirad.frontend.returned_lists import list_result
from mlirad.frontend.values.sizes import Dim, require_known
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Object, PullbackValue, Ref, Static, Tuple, Value, kind_of
from mlirad.library.python import collection_classes
from mlirad.library.spells import is_in_library


def _is_of_the_compiler(value: Any) -> bool:
    """Whether a constant is the compiler's own stand-in for another Python object."""
    of_library = isinstance(value, PythonFunction) and is_in_library(value.__code__.co_filename)
    return of_library or isinstance(value, SetCopy)


class Results:
    """The results of the function found so far. exprs: the results of its func.func. pullbacks: the entry points of the
    callables that it returns."""

    def __init__(self, context: Context, function: str, arguments: BoundArguments):
        self.context = context
        self.function = function
        self.arguments = arguments
        self.exprs: list[Expr] = []
        self.pullbacks: list[func.FuncOp] = []

    def flattened(self, value: Value) -> tuple[tree.Structure, list[Value]]:
        """The structure of the returned value, and its leaves."""
        context = self.context
        value = context.use(value)
        if isinstance(value, Tuple):
            kind, keys, items = value.kind, None, value.items
        elif isinstance(value, Object):
            if context.grown(value) is not None:
                return tree.LEAF, [value]
            entry = storage.entry_of(context, value)
            self.require_result(entry.kind)
            kind, keys, items = entry.kind, None if entry.kind is list else entry.keys, entry.items
        elif isinstance(value, Ref | Traced | Static | PullbackValue):
            return tree.LEAF, [value]
        else:
            context.location = context.returned.get(self.function, context.location)
            raise context.refusal(f"a compiled function cannot return {kind_of(value)}", "return arrays and numbers")
        children = [self.flattened(item) for item in items]
        node = tree.Node(kind, keys, tuple(structure for structure, _ in children))
        return node, [leaf for _, leaves in children for leaf in leaves]

    def require_result(self, kind: type) -> None:
        """Refuse objects that cannot be rebuilt from their attributes."""
        if not is_made_of_its_items(kind):
            context = self.context
            context.location = context.returned.get(self.function, context.location)
            convert = getattr(kind, "returned_as", None) if kind.__module__ == collection_classes.__name__ else None
            hint = "return its attributes, or make the class a dataclass of fields only"
            hint = hint if convert is None else f"return {convert} of it"
            raise context.refusal(f"a compiled function cannot return an object of class {kind.__name__}", hint)

    def add(self, expr: Expr) -> int:
        """Add a result to the function, and return its number."""
        self.exprs.append(expr)
        return len(self.exprs) - 1

    def leaves(self, leaves: list[Value]) -> list[ResultLeaf]:
        context = self.context
        specs: list[ResultLeaf] = []
        lists: dict[int, int] = {}  # where each is returned first
        arrays = ReturnedArrays(context, self.add, self.arguments.arrays_of_caller(), leaves)
        for number, leaf in enumerate(leaves):
            match leaf:
                case Traced():
                    specs.append(ScalarResult(self.add(leaf.expr), leaf.dtype, leaf.weak))
                case Ref():
                    specs.append(arrays.leaf(number, leaf))
                case PullbackValue():
                    specs.append(self.pullback(leaf))
                case Static() if not _is_of_the_compiler(leaf.value):
                    specs.append(StaticResult(leaf.value))
                case Object():
                    same = lists.setdefault(leaf.number, number)
                    made = list_result(context.as_is(leaf), self.add, self.require_result) if same == number else None
                    specs.append(made or SameResult(same))
                case _:
                    raise context.refusal(
                        f"a compiled function cannot return {kind_of(leaf)}", "return arrays and numbers"
                    )
        return specs

    # The pullback of a top-level vjp.

    def pullback(self, value: PullbackValue) -> ResidualsResult:
        """Build a second entry point: residuals and cotangents -> cotangents of the primals (for `linearize`:
        tangents)."""
        context = self.context
        request: PulledBack | Linearized = value.request
        is_linear = isinstance(request, Linearized)
        name = f"{request.outlined.callee.sym_name.data}_{'linear' if is_linear else 'pullback'}"
        leaf_specs = [
            ArrayResult(number, require_known(leaf.shape, SHAPE_OF_RESULT), leaf.dtype)
            if isinstance(leaf, Ref)
            else ScalarResult(number, leaf.dtype, leaf.weak)
            for number, leaf in enumerate(request.leaves)
        ]
        sizes = request.sizes
        input_types = [value.residuals.type, *request.types, *(size.type for size in sizes)]
        block = Block(arg_types=input_types)
        residuals, *given = map(Expr, block.args)
        saved, context.state = context.state, context.state.fork()
        outer, self.exprs = self.exprs, []
        with building(block):
            rebuilt = plain_results.rebuilt(context, request.passed, iter(given))
            structure, all_leaves = self.flattened(rebuilt)
            # The caller was asked for the values of these sizes.
            own = tuple(leaf for leaf in all_leaves if isinstance(leaf, Ref | Traced))
            here = PullbackValue(residuals, request.inside(own, given[len(own) :]))
            passed = rebuilt.items if is_linear and isinstance(rebuilt, Tuple) else (rebuilt,)
            out_structure, out_leaves = self.flattened(dispatch.call(context, here, passed, {}))
            results = self.leaves(out_leaves)
            insert(func.ReturnOp(*(result.value for result in self.exprs)))
        outputs = [result.type for result in self.exprs]
        context.state, self.exprs = saved, outer
        self.pullbacks.append(
            func.FuncOp(name, FunctionType.from_lists(input_types, outputs), Region([block]), visibility="public")
        )
        specs = iter(leaf_specs)
        given_leaves = tuple(
            next(specs) if isinstance(leaf, Ref | Traced) else StaticResult(getattr(leaf, "value", None))
            for leaf in all_leaves
        )
        structure = tree.of_tangents(structure) if is_linear else structure
        entry = PullbackEntry(name, structure, given_leaves, out_structure, tuple(results), is_linear)
        open_sizes = [size.expr for leaf in request.leaves for size in leaf.shape if isinstance(size, Dim)]
        return ResidualsResult(
            self.add(value.residuals), entry, tuple(self.add(size) for size in (*open_sizes, *sizes))
        )
