"""Statements: ast -> the ways in which a block may end, each with its state.

Reads: ast and the state. Writes: ops. Leaves: an Outcome; what follows an `if` of which one side leaves is put into the
other side, so that the usual early exit needs no flag.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

import numpy as np

from mlirad.errors import ShapeError
from mlirad.frontend import prelude, purity
from mlirad.frontend.core import RESULT, Bottom
from mlirad.frontend.expressions import BINARY, UFUNCS
from mlirad.frontend.imports import Imports
from mlirad.frontend.indexing import is_basic
from mlirad.frontend.local_classes import LocalClasses
from mlirad.frontend.masked import changed_in_place
from mlirad.frontend.matching import Matching
from mlirad.frontend.merge import kind_of
from mlirad.frontend.outcomes import Exit, Outcome
from mlirad.frontend.raising import Raising
from mlirad.frontend.scope import Names, always_leaves
from mlirad.frontend.selection import Selected
from mlirad.frontend.special_methods import BINARY as SPECIAL
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Object, Ref, Static, Tuple, Value

_ADVICE = {
    ast.Try: "check the condition with an if",
    ast.Delete: "only names can be deleted; use pop, or make a new list or dict",
    ast.Global: "pass the value in and return it",
}


_FLOATING_ERRORS = ("all", "divide", "over", "under", "invalid")


class Statements(Matching, Raising, Imports, LocalClasses):
    """`block(statements)`, one method per kind of statement."""

    def block(self, statements: Sequence[ast.stmt]) -> Outcome:
        liveness = self.frame.scope.liveness
        active = len(self.active)
        for position, statement in enumerate(statements):
            after = liveness.after.get(id(statement), frozenset())
            self.frame.live = liveness.before.get(id(statement), frozenset()) | after
            rest = statements[position + 1 :]
            try:
                if isinstance(statement, ast.If):
                    outcome, rest = self.if_statement(statement, rest)
                else:
                    outcome = self.statement(statement, after)
            except Bottom:
                del self.active[active:]
                return Outcome({})
            if Exit.NEXT not in outcome.states or not rest:
                return outcome
            if len(outcome.states) > 1:
                return self.then(outcome, rest)
            self.state = outcome.states[Exit.NEXT]
        return Outcome({Exit.NEXT: self.state})

    def then(self, outcome: Outcome, rest: Sequence[ast.stmt]) -> Outcome:
        """Go on with `rest` where the outcome is NEXT at run time, and leave as it says where it is not."""
        assert outcome.code is not None
        left = {exit: state for exit, state in outcome.states.items() if exit != Exit.NEXT}
        leaving = Outcome(left, outcome.code if len(left) > 1 else None)

        def go_on() -> Outcome:
            self.state = outcome.states[Exit.NEXT].fork()
            return self.block(rest)

        return self.branch(outcome.code == int(Exit.NEXT), go_on, lambda: leaving, self.live_at_end(rest))

    def live_at_end(self, statements: Sequence[ast.stmt]) -> Names:
        return self.frame.scope.liveness.after.get(id(statements[-1]), frozenset())

    def if_statement(self, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[Outcome, Sequence[ast.stmt]]:
        """The outcome of an if, and what is left to do after it."""
        with self.at(node.test):
            truth = self.condition(node.test)
        if isinstance(truth, bool):
            return self.block(node.body if truth else node.orelse), rest
        body, orelse = node.body, node.orelse
        live = self.live_at_end([node])
        if rest and always_leaves(body) != always_leaves(orelse):
            live = self.live_at_end(rest)
            if always_leaves(body):
                orelse = [*orelse, *rest]
            else:
                body = [*body, *rest]
            rest = ()
        with self.at(node):
            return self.branch(truth, lambda: self.block(body), lambda: self.block(orelse), live), rest

    def statement(self, node: ast.stmt, after: Names) -> Outcome:
        with self.at(node):
            match node:
                case ast.Return():
                    value = Static(None) if node.value is None else self.expression(node.value)
                    self.state.frames[self.frame.number][RESULT] = value
                    if self.location is not None and node.value is not None:
                        self.returned[getattr(self.frame.scope.node, "name", "<lambda>")] = self.location
                    return Outcome({Exit.RETURN: self.state})
                case ast.Break():
                    return Outcome({Exit.BREAK: self.state})
                case ast.Continue():
                    return Outcome({Exit.CONTINUE: self.state})
                case ast.For():
                    return self.for_statement(node, after)
                case ast.While():
                    return self.while_statement(node, after)
                case ast.With():
                    return self.with_statement(node)
                case ast.Match():
                    return self.match_statement(node)
            self.simple(node)
        return Outcome({Exit.NEXT: self.state})

    def with_statement(self, node: ast.With) -> Outcome:
        """`with np.errstate(...)`: compiled code gives no warnings, so that the block is all there is to do."""
        for item in node.items:
            with self.at(item.context_expr):
                self.require_quiet(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, Static(None))
        return self.block(node.body)

    def require_quiet(self, node: ast.expr) -> None:
        """Refuse every context but np.errstate that ignores or warns."""
        function = self.expression(node.func) if isinstance(node, ast.Call) else None
        if not (isinstance(node, ast.Call) and isinstance(function, Static) and function.value is np.errstate):
            hint = "leave it out of the compiled function; `with np.errstate(...)` is compiled"
            raise self.refusal("this `with` is not compiled", hint)
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            raise self.refusal("np.errstate() takes keywords", 'write np.errstate(divide="ignore")')
        for keyword in node.keywords:
            with self.at(keyword.value):
                value = self.static(self.expression(keyword.value), f"np.errstate({keyword.arg}=)")
                if keyword.arg not in _FLOATING_ERRORS:
                    raise self.refusal(f"np.errstate({keyword.arg}=) is not compiled", "leave it out")
                if value not in ("ignore", "warn", None):
                    hint = 'use "ignore" or "warn", and check the condition with an if'
                    raise self.refusal(f"np.errstate({keyword.arg}={value!r}) is not compiled", hint)

    def for_statement(self, node: ast.For, after: Names) -> Outcome:
        raise NotImplementedError

    def while_statement(self, node: ast.While, after: Names) -> Outcome:
        raise NotImplementedError

    def simple(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.expression(node.value)
                self.push(value)
                for target in node.targets:
                    self.assign(target, self.top())
                self.pop()
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.expression(node.value))
            case ast.AugAssign():
                self.augmented(node)
            case ast.Expr():
                self.expression(node.value)
            case ast.FunctionDef():
                self.bind(node.name, self.decorated(node))
            case ast.ClassDef():
                self.class_statement(node)
            case ast.Raise():
                self.raise_statement(node)
            case ast.Assert():
                self.assert_statement(node)
            case ast.Delete(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
                for target in targets:
                    self.unbind(target.id)  # type: ignore[attr-defined]
            case ast.Import():
                self.import_modules(node)
            case ast.ImportFrom():
                self.import_names(node)
            case ast.Pass() | ast.Nonlocal():
                pass
            case _:
                name = {"AsyncFunctionDef": "async def"}.get(type(node).__name__, type(node).__name__.lower())
                raise self.refusal(f"the statement `{name}` is not compiled", _ADVICE.get(type(node)))

    def decorated(self, node: ast.FunctionDef) -> Value:
        """The function that a def binds, its decorators applied."""
        decorators = [lambda n=n: self.expression(n) for n in node.decorator_list]
        self.push(*self.evaluate_all([*decorators, lambda: self.closure(node)]))
        for decorator in reversed(node.decorator_list):
            function, decorated = self.pop_many(2)
            with self.at(decorator):
                self.push(self.call(function, (decorated,), {}))
        return self.pop()

    # Assignment.

    def assign(self, target: ast.expr, value: Value) -> None:
        with self.at(target):
            match target:
                case ast.Name():
                    self.require_no_generator(value)
                    self.bind(target.id, value)
                case ast.Tuple() | ast.List():
                    self.unpack(target.elts, value)
                case ast.Subscript():
                    self.push(value)
                    base, index = self.evaluate_all(
                        [lambda: self.expression(target.value), lambda: self.index(target.slice)]
                    )
                    self.set_item(base, index, self.pop())
                case ast.Attribute():
                    self.push(value)
                    base = self.expression(target.value)
                    self.set_attribute(base, target.attr, self.pop())
                case _:
                    raise self.refusal("this target of an assignment is not compiled")

    def unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        items = list(self.elements(value))
        starred = [position for position, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred:
            position, tail = starred[0], len(targets) - starred[0] - 1
            if len(items) < len(targets) - 1:
                raise self.refusal(
                    f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(items)})"
                )
            split = len(items) - tail
            items = [*items[:position], self.new_list(items[position:split]), *items[split:]]
        if len(items) != len(targets):
            few = "not enough" if len(items) < len(targets) else "too many"
            raise ShapeError(f"{few} values to unpack (expected {len(targets)}, got {len(items)})")
        self.push(*reversed(items))
        for target in targets:
            self.assign(target.value if isinstance(target, ast.Starred) else target, self.pop())

    def set_item(self, base: Value, index: Value, value: Value) -> None:
        base = self.use(base)
        if self.special(base, "__setitem__", index, value) is not None:
            return
        match base:
            case Ref():
                self.set_array_item(base, index, value)
                return
            case Object():
                self.set_object_item(base, index, value)
                return
            case Tuple():
                raise self.refusal("a tuple cannot be changed", "use a list")
        raise self.refusal(f"{self.described(base)} cannot be assigned to by an index")

    def set_array_item(self, array: Ref, index: Value, value: Value) -> None:
        position = self.index_operand(index)
        operand = self.operand(value)
        if not is_basic(position):
            self.set_advanced_item(array, position, operand)
            return
        part = self.part(array, position)
        self.require_writable(part)
        self.assign_array(part, operand)

    def set_object_item(self, base: Object, index: Value, value: Value) -> None:
        if self.grown(base) is not None:
            self.set_element(base, index, value)
            return
        entry = self.entry(base)
        if entry.kind not in (list, dict):
            raise self.refusal(f"{self.described(base)} cannot be assigned to by an index")
        if entry.kind is dict:
            key = self.static(index, "a key of a dict")
            items = dict(zip(entry.keys, entry.items, strict=True))
            if items.get(key) is value:
                return
            items[key] = value
            self.change(base, dataclasses.replace(entry, keys=tuple(items), items=tuple(items.values())))
            return
        position = self.static(self.as_slice_or_number(index), "the index of a list")
        items = list(entry.items)
        if isinstance(position, slice):
            items[position] = self.elements(value)
        else:
            if not -len(items) <= int(position) < len(items):
                raise self.failed("IndexError", "list assignment index out of range")
            if items[int(position)] is value:
                return  # `l[0] += y` has changed the array that l[0] is, and not the list
            items[int(position)] = value
        self.change(base, dataclasses.replace(entry, keys=tuple(range(len(items))), items=tuple(items)))

    def as_slice_or_number(self, index: Value) -> Value:
        operand = self.index_operand(index)
        return operand if isinstance(operand, Traced) else Static(operand)

    def set_attribute(self, base: Value, name: str, value: Value) -> None:
        base = self.use(base)
        if not isinstance(base, Object) or (entry := self.entry(base)).kind in (list, dict):
            raise self.refusal(f"setting an attribute of {kind_of(base)} is not compiled")
        if name in entry.keys:
            position = entry.keys.index(name)
            changed = dataclasses.replace(entry, items=(*entry.items[:position], value, *entry.items[position + 1 :]))
        else:
            changed = dataclasses.replace(entry, keys=(*entry.keys, name), items=(*entry.items, value))
        self.require_attribute(entry.kind, name)
        self.change(base, changed)

    def require_attribute(self, kind: type, name: str) -> None:
        """Of an attribute that is assigned: objects of the class must store it, as it is."""
        if dataclasses.is_dataclass(kind):
            if kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                raise self.refusal(f"{kind.__name__} is frozen", "use dataclasses.replace")
            if name not in (field.name for field in dataclasses.fields(kind)):
                raise self.refusal(f"{kind.__name__} has no field {name!r}")
        elif hasattr(type(purity.class_attribute(kind, name)), "__set__"):
            raise self.refusal(f"the attribute {name!r} of {kind.__name__} has a setter, which is not compiled")

    # Augmented assignment: the target is evaluated once, and its value before the right side.

    def augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self.push(self.lookup(target.id))
            right = self.expression(node.value)
            self.bind(target.id, self.in_place(node.op, self.pop(), right))
            return
        if isinstance(target, ast.Attribute):
            self.push(self.expression(target.value))
            self.push(self.attribute(self.top(), target.attr))
            right = self.expression(node.value)
            current = self.pop()
            self.push(self.in_place(node.op, current, right))
            base, new = self.pop_many(2)
            self.set_attribute(base, target.attr, new)
            return
        base, index = self.evaluate_all([lambda: self.expression(target.value), lambda: self.index(target.slice)])
        self.push(base, index)
        with self.at(target):
            self.push(self.get_item(base, index))
        right = self.expression(node.value)
        current = self.pop()
        if isinstance(current, Selected):
            new = self.changed_selection(node.op, current, right)
        else:
            new = self.in_place(node.op, current, right)
        base, index = self.pop_many(2)
        if isinstance(self.use(base), Ref) and isinstance(current, Ref) and is_basic(self.index_operand(index)):
            return  # in_place has written the view; storing it in itself changes nothing
        self.set_item(base, index, new)

    def in_place(self, op: ast.operator, current: Value, right: Value) -> Value:
        current, right = self.use(current), self.use(right)
        if (found := self.special(current, f"__i{SPECIAL[type(op)]}__", right)) is not None:
            return found
        if self.users_class(current) is not None:
            return self.binary(op, current, right)
        if self.grown(current) is not None and isinstance(op, ast.Add):
            return self.extended(current, right)
        if isinstance(current, Object) and isinstance(op, ast.Add) and self.entry(current).kind is list:
            if isinstance(self.length(right), Traced):
                return self.extended(current, right)
            entry = self.entry(current)
            items = entry.items + self.elements(right)
            self.change(current, dataclasses.replace(entry, keys=tuple(range(len(items))), items=items))
            return current
        if isinstance(current, Object) and isinstance(op, ast.Mult) and self.entry(current).kind is list:
            entry = self.entry(current)
            items = entry.items * int(self.static(right, "how often a list is repeated"))
            self.change(current, dataclasses.replace(entry, keys=tuple(range(len(items))), items=items))
            return current
        if isinstance(current, Object) and isinstance(op, ast.BitOr):
            self.change(current, self.united(self.entry(current), self.dict_entry(right)))
            return current
        if isinstance(current, Selected):
            raise self.refusal(
                "a masked selection that has a name is not changed in place", "write y = y + ..., or x[m] += ..."
            )
        if not isinstance(current, Ref):
            return self.binary(op, current, right)
        self.require_writable(current)
        operand = self.operand(right)
        function = BINARY[type(op)]
        self.assign_array(current, function(self.read(current), operand), UFUNCS[type(op)])
        return current

    def extended(self, current: Value, right: Value) -> Value:
        """The list after `current += right`; a loop appends the items."""
        self.push(current)
        self.call(Static(prelude.extend), (current, right), {})
        return self.pop()

    def changed_selection(self, op: ast.operator, current: Selected, right: Value) -> Value:
        """What `x[m] op= right` stores; `current` is x[m]."""
        new = self.binary(op, current, right)
        assert isinstance(new, Selected)
        return changed_in_place(new, current, UFUNCS[type(op)])
