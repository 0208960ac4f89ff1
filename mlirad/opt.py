"""`mlirad-opt`: any pass of ours, or of xDSL, on IR text. Reads and writes the text of every MLIR stage."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from mlirad import __version__, autodiff, lowering
from mlirad.errors import CompileError
from mlirad.targets.output import StageOutput

PREFIX = "mlirad-"


def passes() -> Iterator[type[ModulePass]]:
    """Every pass of ours: one a file, in the rooms `autodiff` and `lowering`."""
    for room in (autodiff, lowering):
        for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            module = importlib.import_module(info.name)
            for value in vars(module).values():
                is_pass = isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == info.name
                if is_pass and getattr(value, "name", "").startswith(PREFIX):
                    yield value


class MliradOptMain(xDSLOptMain):
    """xDSL's driver, which knows our dialects and passes too."""

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        from mlirad.dialect.nd import Nd
        from mlirad.dialect.remf import RemfOp
        from mlirad.dialect.request import Ad
        from mlirad.lowering.vector_arith import mend_vector_arith

        mend_vector_arith()
        self.ctx.load_op(RemfOp)
        for dialect in (Nd, Ad):
            self.ctx.load_dialect(dialect)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for found in passes():
            self.register_pass(found.name, _always(found))

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets[StageOutput.name] = lambda: StageOutput


def _always(found: type[ModulePass]) -> Callable[[], type[ModulePass]]:
    return lambda: found


def main(args: Sequence[str] | None = None) -> None:
    """Run the driver. Exits with 1, and a message with the place, for text that is malformed or does not verify."""
    if list(sys.argv[1:] if args is None else args) == ["--version"]:
        print(f"mlirad-opt {__version__}")
        return
    try:
        MliradOptMain("mlirad's modular optimizer driver", args).run()
    except (ParseError, DiagnosticException, CompileError, OSError) as error:
        print(f"mlirad-opt: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
