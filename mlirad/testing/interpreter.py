"""The evaluator, under the name that tests use."""

from mlirad.evaluator.evaluator import Evaluator as Interpreter
from mlirad.evaluator.evaluator import run

__all__ = ["Interpreter", "run"]
