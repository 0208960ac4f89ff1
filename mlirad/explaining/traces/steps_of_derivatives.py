"""The value, the tangent and the cotangents of one step: as numbers, and as expressions.

Reads: the op of a step. Writes: modules of its own, each with this one op. Leaves: `StepFunction`s.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad import pipeline
from mlirad.dialect.ad.derivative_ops import DerivativeOp, VjpOp
from mlirad.evaluator.evaluator import run
from mlirad.options import SOURCE_STAGE, SOURCE_TARGET
from mlirad.targets.finding import find_target

_MAIN, _STEP = "step_of_trace", "op_of_step"


class StepFunction:
    """An op as a function of its operands, or a derivative of it as a function of operands and seeds.

    request: of the derivative; None for the op itself. wrt: the operands it is by. out: the result of the op.
    """

    def __init__(self, op: Operation, request: type[DerivativeOp] | None = None, wrt: Sequence[int] = (), out: int = 0):
        self.module = _module_of(op, request, wrt, out)
        self._called = _name_of_call(op, request)

    def __call__(self, *values: Any) -> Any:
        return run(self.module, _MAIN, *values)[0]

    def text(self, names: Sequence[str]) -> str:
        """NumPy source in these names of the operands and seeds, without the `np.`."""
        if self._called is not None:
            return f"{self._called}({', '.join(names)})"
        parameters, statements = self._expression
        known = dict(zip(parameters, names, strict=True))
        return _joined([_Named(known).visit(_copied(each)) for each in statements])

    @cached_property
    def _expression(self) -> tuple[list[str], list[ast.stmt]]:
        return _statements(_printed(self.module.clone()))


def operands_of(op: Operation) -> list[SSAValue]:
    """The operands of an op, each once."""
    return list(dict.fromkeys(op.operands))


def _module_of(op: Operation, request: type[DerivativeOp] | None, wrt: Sequence[int], out: int) -> ModuleOp:
    operands = operands_of(op)
    block = Block(arg_types=[operand.type for operand in operands])
    copy = op.clone(dict(zip(operands, block.args, strict=True)))
    result = copy.results[out]
    block.add_ops([copy, func.ReturnOp(result)])
    step = func.FuncOp(_STEP, ([*block.arg_types], [result.type]), Region([block]), "private")
    main = Block(arg_types=[*block.arg_types])
    if request is None:
        made = func.CallOp(_STEP, main.args, [result.type])
    else:
        given = tuple(main.args)
        seeds = [result.type] if request is VjpOp else [block.arg_types[each] for each in wrt]
        others = [main.insert_arg(type, len(main.args)) for type in seeds]
        made = request.of(step, given, others, wrt=tuple(wrt), outs=(0,))
    main.add_ops([made, func.ReturnOp(made.results[-1])])
    types = [*main.arg_types], [made.results[-1].type]
    module = ModuleOp([func.FuncOp(_MAIN, types, Region([main]), "public"), step, *_called_by(op)])
    return pipeline.optimize(pipeline.differentiate(module))


def _called_by(op: Operation) -> list[Operation]:
    """Copies of the functions that an op may call."""
    if not isinstance(op, func.CallOp):
        return []
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    private = [each for each in module.ops if isinstance(each, func.FuncOp) and each.sym_visibility is not None]
    return [each.clone() for each in private if each.sym_visibility == StringAttr("private")]


def _name_of_call(op: Operation, request: type[DerivativeOp] | None) -> str | None:
    """The text for a call of a function with a derivative rule, or for that derivative; None for other ops."""
    if not isinstance(op, func.CallOp):
        return None
    name = re.sub(r"_\d+$", "", op.callee.string_value())  # without the number that makes it unique
    return name if request is None else f"{'vjp' if request is VjpOp else 'jvp'}({name})"


def _printed(module: ModuleOp) -> str:
    (stage,) = [each for each in find_target(SOURCE_TARGET).stages() if each.name == SOURCE_STAGE]
    return str(stage.run(module))


def _statements(program: str) -> tuple[list[str], list[ast.stmt]]:
    """The parameters of a printed function, and its statements, the last of them an expression. Variables that are
    assigned once, and not changed, are replaced by what they are."""
    (function,) = [each for each in ast.parse(program).body if isinstance(each, ast.FunctionDef)]
    changed = {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }
    known: dict[str, Any] = {}
    kept: list[ast.stmt] = []
    for statement in function.body:
        named = _Named(known).visit(statement)
        match named:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in changed:
                known[name] = value
            case ast.Return(value=ast.expr() as value):
                kept.append(ast.Expr(value))
            case _:
                kept.append(named)
    return [each.arg for each in function.args.args], kept


def _joined(statements: Sequence[ast.stmt]) -> str:
    """Statements as one expression: an array that is made, and changed before it is given, with its changes."""
    match statements:
        case [ast.Expr(value=value)]:
            return ast.unparse(value)
        case [ast.Assign(targets=[ast.Name(id=name)], value=made), *changes, ast.Expr(value=ast.Name(id=given))] if (
            name == given and all(_changes(each, name) for each in changes)
        ):
            texts = [ast.unparse(each).removeprefix(name) for each in changes]
            return f"{ast.unparse(made).removesuffix('.copy()')} with {', '.join(texts)}"
        case _:
            return "; ".join(map(ast.unparse, statements))


def _changes(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=changed))]):
            return changed == name
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=changed))):
            return changed == name
        case _:
            return False


def _copied(statement: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(statement)).body[0]


class _Named(ast.NodeTransformer):
    """Replaces names, by other names or by expressions. Drops what a reader knows: the `np.` of NumPy's names, that a
    derivative of 0 stays 0 where the function has none, that -0.0 becomes 0.0."""

    def __init__(self, known: dict[str, Any]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self.known.get(node.id, node.id)
        return ast.Name(found, node.ctx) if isinstance(found, str) else found

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_numpys = isinstance(node.value, ast.Name) and node.value.id == "np"
        return ast.Name(node.attr, node.ctx) if is_numpys else self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.visit(node.orelse) if _is_guard(node.test, node.body) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_guard = len(node.args) == 3 and "where" in ast.unparse(node.func) and _is_guard(*node.args[:2])
        return self.visit(node.args[2]) if is_guard else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        adds_zero = isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant) and node.right.value == 0.0
        return self.visit(node.left) if adds_zero else self.generic_visit(node)


def _is_guard(test: ast.expr, chosen: ast.expr) -> bool:
    """Whether 0.0 is chosen where seeds are exactly 0."""
    is_zero = re.fullmatch(r"(np\.\w+\()?0\.0\)?", ast.unparse(chosen)) is not None
    return is_zero and all(re.search(r" == 0\)?$", each) for each in re.split(r" and | & ", ast.unparse(test)))
