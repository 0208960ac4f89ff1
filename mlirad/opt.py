"""`mlirad-opt`: runs any pass of mlirad or xDSL on IR text. Reads and writes the text of every MLIR stage."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline, get_pass_option_infos
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from mlirad import __version__, autodiff, lowering
from mlirad.dialect.core.types import from_location
from mlirad.dialect_version import require_version, stamped
from mlirad.errors import CompileError, TargetError
from mlirad.options import Environment
from mlirad.targets.finding import find_target
from mlirad.targets.output import StageOutput
from mlirad.targets.reading import load_dialects
from mlirad.testing.reducing.edits import size_of
from mlirad.testing.reducing.search import Reduction, Test, fails_as, failure, satisfies
from mlirad.xdsl_support.parser import PlacedParser
from mlirad.xdsl_support.verify import InvalidOp, verify_all

PREFIX = "mlirad-"


_NAME = re.compile(rf'^    name = "({PREFIX}[a-z0-9-]+)"$', re.MULTILINE)


@dataclass(frozen=True)
class PassFile:
    """A pass of mlirad, found in the text of its file: importing all files would take a third of the time of a run."""

    name: str
    module: str
    summary: str
    """What the pass does, in a line: the first line of its file's docstring."""

    def load(self) -> type[ModulePass]:
        for value in vars(importlib.import_module(self.module)).values():
            is_pass = isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == self.module
            if is_pass and getattr(value, "name", "") == self.name:
                return value
        raise LookupError(f"{self.module} has no pass {self.name}")


def pass_files() -> Iterator[PassFile]:
    """Every pass of mlirad: one in each file of the rooms `autodiff` and `lowering` that has a pass."""
    for room in (autodiff, lowering):
        for folder in map(Path, room.__path__):
            for path in sorted(folder.rglob("*.py")):
                text = path.read_text()
                for name in _NAME.findall(text):
                    module = ".".join((room.__name__, *path.relative_to(folder).with_suffix("").parts))
                    line = text.removeprefix('"""').partition("\n")[0].removesuffix('"""')
                    yield PassFile(name, module, line.removeprefix(f"The pass `{name}`: "))


def passes() -> Iterator[type[ModulePass]]:
    """The classes of all passes of mlirad."""
    return (found.load() for found in pass_files())


class MliradOptMain(xDSLOptMain):
    """xDSL's driver, extended with mlirad's dialects and passes, and with a place for every error."""

    running: str | None = None  # the pass

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--reduce",
            action="store_true",
            help="print the smallest module found on which the passes still fail in the same way: with the same "
            "exception and the same beginning of its message, or with an invalid result, in the same pass",
        )
        arg_parser.add_argument(
            "--reduce-while",
            metavar="COMMAND",
            help="print the smallest module found for which a shell command, given the name of a file with the module, "
            "still exits with 0; for crashes, hangs (with timeout) and wrong results",
        )
        arg_parser.add_argument(
            "--dialects-of",
            metavar="TARGET",
            help="a target (`acme`, say); its dialects and passes are known too",
        )
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        own = [f"  {each.name:35} {each.summary}" for each in pass_files()]
        others = sorted(name for name in self.available_passes if not name.startswith(PREFIX))
        arg_parser.epilog = "\n".join(
            ["passes of mlirad:", *own, "", "passes of xDSL (xdsl-opt's):", "  " + " ".join(others)]
        )
        helps = {
            "passes": "the passes, separated by commas, each with its options: name{option=value}; listed below",
            "target": "what is written: mlir (the default); or a stage of a target, "
            "'mlirad{target=cpu stage=llvmir}', of a module of stage `optimized`, "
            "or of another one: 'mlirad{target=cpu after=loops stage=llvmir}'; or an output of xDSL: "
            + ", ".join(sorted(name for name in self.available_targets if name != StageOutput.name)),
        }
        for action in arg_parser._actions:
            action.help = helps.get(action.dest, action.help)

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        load_dialects(self.ctx)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()

        def parse(stream: IO[bytes]) -> ModuleOp:
            try:
                text = stream.read().decode()
            except UnicodeDecodeError as error:
                raise WrongInput(f"{self.get_input_name()} is not text: {error}") from None
            require_version(text, self.get_input_name())
            if self.args.dialects_of is not None:
                for dialect in find_target(self.args.dialects_of).dialects():
                    self.ctx.load_dialect(dialect)
            return PlacedParser(self.ctx, text, self.get_input_name()).parse_module(not self.args.no_implicit_module)

        self.available_frontends["mlir"] = parse

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for found in pass_files():
            self.register_pass(found.name, found.load)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets[StageOutput.name] = lambda: StageOutput

    def setup_pipeline(self) -> None:
        if self.args.dialects_of is not None:
            target = find_target(self.args.dialects_of)
            for found in target.passes():
                if found.name in self.available_passes:
                    raise TargetError(f"the target {target.name!r} has a pass {found.name!r}, and there is one already")
                self.register_pass(found.name, _always(found))
        self._require_passes()
        super().setup_pipeline()
        report = self.pipeline.callback

        def between(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
            if not self.args.disable_verify:
                _verify_placed(module)
            if report is not None:
                report(previous, module, following)
            self.running = None if following is None else following.name

        self.pipeline = PassPipeline(self.pipeline.passes, between)

    def _require_passes(self) -> None:
        """Raise WrongInput if there is no pass of a given name, or a pass does not take its options."""
        for spec in parse_pipeline(self.args.passes):
            if spec.name not in self.available_passes:
                close = get_close_matches(spec.name, self.available_passes, 1, 0.8)
                hint = f"did you mean {close[0]}?" if close else "mlirad-opt --help lists them"
                raise WrongInput(f"there is no pass {spec.name!r}; {hint}")
            found = self.available_passes[spec.name]()
            try:
                found.from_spec(spec)
            except (ValueError, TypeError) as error:
                infos = get_pass_option_infos(found)
                options = ", ".join(f"{each.name}: {each.expected_type}" for each in infos).replace("'", "")
                takes = f"the options of this pass are {options}" if options else "this pass has no options"
                raise WrongInput(f"{spec}: {takes}") from error

    def apply_passes(self, prog: ModuleOp) -> None:
        """Apply the passes, or look for the smallest module on which they fail."""
        if not self.args.reduce and self.args.reduce_while is None:
            super().apply_passes(prog)
            return
        _verify_placed(prog)
        self.running = None
        reduction = Reduction(prog, self._test_of_reduction(prog))
        before = size_of(prog)[0]
        reduced = reduction.run()
        print(
            f"mlirad-opt: reduced from {before} to {size_of(reduced)[0]} ops, in {reduction.tries} tries",
            file=sys.stderr,
        )
        if reduced is not prog:
            body = reduced.detach_region(reduced.body)
            prog.body.detach_block(prog.body.block).drop_all_references()
            body.move_blocks(prog.body)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The text of the program; MLIR text names the version of the dialects in its first line."""
        text = super().output_resulting_program(prog)
        return stamped(text) if self.args.target.partition("{")[0] == "mlir" else text

    def _test_of_reduction(self, module: ModuleOp) -> Test:
        """The failure that smaller modules have to show, like this one. Raises WrongInput if it shows none."""
        command = self.args.reduce_while
        if command is not None:
            if self.args.reduce or self.pipeline.passes:
                raise WrongInput("--reduce-while takes no passes: its command says what to run")
            test = satisfies(command)
            if not test(module.clone()):
                raise WrongInput(f"nothing to reduce: {command!r} does not exit with 0 for this module")
            return test
        if not self.pipeline.passes:
            raise WrongInput("--reduce needs the passes that fail: give them with -p")
        found = failure(self.pipeline.passes, self.ctx, module.clone())
        if found is None:
            raise WrongInput("nothing to reduce: the passes do not fail on this module")
        print(f"mlirad-opt: reducing what fails in {found}", file=sys.stderr)
        return fails_as(self.pipeline.passes, self.ctx, found)


class WrongInput(Exception):
    """The command line, or the module, does not say what to do."""


def _verify_placed(module: ModuleOp) -> None:
    """Raise CompileError at the place of the first op that is not valid."""
    try:
        verify_all(module)
    except InvalidOp as error:
        raise CompileError(str(error), from_location(error.op.location)) from error


def _always(found: type[ModulePass]) -> Callable[[], type[ModulePass]]:
    return lambda: found


_MESSAGES = (
    *(ParseError, DiagnosticException, CompileError, OSError, ArgSpecParseError),
    WrongInput,
)
"""Errors that are shown by their message alone."""


def main(args: Sequence[str] | None = None) -> None:
    """Run the driver. For text that is malformed or does not verify, exits with 1 and a message with the place."""
    if list(sys.argv[1:] if args is None else args) == ["--version"]:
        print(f"mlirad-opt {__version__}")
        return
    driver: MliradOptMain | None = None
    try:
        driver = MliradOptMain("Runs passes on MLIR text, and prints the result.", args)
        driver.run()
    except _MESSAGES as error:
        _fail(str(error))
    except Exception as error:
        if Environment.read().full_traceback:
            raise
        where = f"the pass {driver.running}" if driver and driver.running else "mlirad-opt"
        _fail(f"a bug in {where}: {type(error).__name__}: {error} (MLIRAD_TRACEBACK=full shows where)")


def _fail(message: str) -> None:
    print(f"mlirad-opt: {message}", file=sys.stderr)
    raise SystemExit(1) from None


if __name__ == "__main__":
    main()
