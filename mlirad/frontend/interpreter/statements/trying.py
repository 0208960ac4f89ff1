"""try: the compiler decides which way it goes, or the run does.

Reads: ast and the state. Writes: the ops of its body, and of the handlers that may run. Leaves: an Outcome.

If the compiler knows that the body raises, the handler that catches the exception runs. If only the run
can tell, the body is run statement by statement, and each one that may raise becomes an if (decided_by_the_run.py).
"""

from __future__ import annotations

import ast

from mlirad.frontend.interpreter import attempts, dispatch
from mlirad.frontend.interpreter.attempts import Attempt
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.interpreter.statements import caught, decided_by_the_run, statements
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.program.scope import Names


@runs(ast.Try)
def try_statement(context: Context, node: ast.Try, _after: Names) -> Outcome:
    attempt = attempts.begin(context)
    outcome = _tried(context, node, attempt)
    if not node.finalbody:
        return outcome
    if any(True for _ in caught.may_raise(context, attempt)):
        raise context.refusal("`finally` after code that may raise at run time is not compiled", caught.HINT)
    if set(outcome.states) != {Exit.NEXT}:
        raise context.refusal("`finally` after a return, break or continue is not compiled", "leave after the try")
    context.state = outcome.states[Exit.NEXT]
    return dispatch.block(context, node.finalbody)


def _tried(context: Context, node: ast.Try, attempt: Attempt) -> Outcome:
    """The outcome without the `finally`."""
    outcome, raised = caught.attempted(context, node, attempt, lambda: dispatch.block(context, node.body))
    if caught.undecided(context, node, attempt, raised):
        attempts.begin_again(context, attempt)
        return decided_by_the_run.run(context, node, node.body)
    if raised is not None:
        return caught.handled(context, node, attempt, raised, outcome)
    if not node.orelse or Exit.NEXT not in outcome.states:
        return outcome
    if len(outcome.states) > 1:
        return statements.then(context, outcome, node.orelse)
    context.state = outcome.states[Exit.NEXT]
    return dispatch.block(context, node.orelse)
