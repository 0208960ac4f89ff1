"""Calls every public callable in a kernel, twice, with everything that it may depend on changed in between.

`python tests/support/purity_walk.py MODULE...` prints one line of JSON for each call that is not what plain Python
gives, or refused at its line; `--page FILE` walks through everything and writes the summary. With `--natively 4`, one
call in four is compiled to native code, and the others are interpreted op by op once the frontend has built them: what
is evaluated while compiling is the frontend's decision. A process of its own: what a callable does to the process is
part of the test.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad import stages
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

sys.path.insert(0, str(Path(__file__).parent))

import callables
import other_numpys

X = np.array([3.0, 1.0, 2.0])
LONGEST = 30
"""Seconds for one call."""
GOOD = ("equal", "same error", "refused")


@dataclass(frozen=True)
class Verdict:
    """The outcome of one call. how: equal, refused, same error, wrong, ran, no place, hang or crash."""

    call: str
    how: str
    text: str = ""


# --- what a call did --------------------------------------------------------------------------------------------


class Ran(Exception):
    """The compiler has done what it must not."""


class Watch:
    """While `is_on`, what would reach out of the process is prevented, and remembered."""

    # Reading is what compiling needs: source files, and the code of LLVM.
    ALLOWED = ("os.listdir", "os.scandir", "os.stat", "os.putenv", "os.unsetenv")

    def __init__(self) -> None:
        self.is_on = False
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
        reaches = event.split(".")[0] in ("os", "subprocess", "shutil", "socket", "pty", "signal") or event in (
            "builtins.input",
            "builtins.breakpoint",
            "time.sleep",
        )
        if (writes or reaches) and event not in self.ALLOWED:
            self.seen.append(event)
            raise Ran(event)


def outcome(function: Any, argument: Any) -> tuple[str, Any]:
    """("value", it) or ("error", its class)."""
    try:
        with callables.quiet():
            return "value", function(argument)
    except Exception as error:
        return "error", error


def is_same(a: Any, b: Any) -> bool:
    """Whether two results have the same classes and dtypes, and are equal; objects without a value need only look
    alike."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        if {*map(type, a), *map(type, b)} <= {int, str}:  # as the state of a generator: 624 numbers
            return a == b
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return (
            bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
            if a.dtype.kind in "fc"
            else bool((a == b).all())
        )
    if isinstance(a, np.datetime64 | np.timedelta64 | np.iinfo | np.finfo):
        return repr(a) == repr(b)
    if isinstance(a, float | np.floating):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    return bool(a == b)


class Walk:
    """The kernels of some calls in a separate module, and their surroundings. One in `natively` becomes native code."""

    def __init__(self, folder: Path, natively: int = 1):
        self.folder = folder
        self.natively = natively
        self.watch = Watch()
        self.space: dict[str, Any] = {}
        exec(callables.SURROUNDINGS, self.space)
        callables.set_surroundings(self.space, callables.STARTS[0])

    def accepts(self, call: str) -> bool:
        """Whether plain Python takes a call."""
        callables.set_surroundings(self.space, callables.STARTS[0])
        signal.alarm(LONGEST)
        try:
            with callables.quiet():
                eval(call, self.space, {"x": X.copy()})
        except (Exception, SystemExit):
            return False
        finally:
            signal.alarm(0)
        return True

    def run(self, names: Sequence[str]) -> Iterable[Verdict]:
        calls: list[str] = []
        for name in names:
            calls += callables.calls(name, self.accepts)
        lines = [callables.SURROUNDINGS]
        for number, call in enumerate(calls):
            lines.append(f"def kernel_{number}(x):\n    return {call}\n")
        path = self.folder / f"walk_{len(names)}_{abs(hash(names[0]))}.py"
        path.write_text("\n".join(lines))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        for number, call in enumerate(calls):
            function = getattr(module, f"kernel_{number}")
            kernel = mlirad.jit(function) if number % self.natively == 0 else Interpreted(function, stages.TENSOR)
            may_run = callables.may_run(call.split("(")[0] if "(3)" not in call else call)
            yield self.verdict(call, function, kernel, may_run)

    def verdict(self, call: str, function: Any, kernel: Any, may_run: bool) -> Verdict:
        space = function.__globals__
        found = "refused"
        for start in callables.STARTS:
            callables.set_surroundings(space, start)
            argument = X * start["K"]
            wanted = outcome(function, argument) if may_run else ("error", None)
            changes = [callables.observed(space), argument]
            callables.set_surroundings(space, start)
            argument = X * start["K"]
            given = self.compiled(kernel, argument)
            if given[0] == "error" and isinstance(given[1], CompileError):
                if self.watch.seen:
                    return Verdict(call, "ran", self.watch.seen.pop())
                if given[1].lineno is None or "walk_" not in str(given[1]):
                    return Verdict(call, "no place", str(given[1]))
                continue
            if call.startswith(("np.empty", "np.ndarray")) and isinstance(wanted[1], np.ndarray):
                wanted[1].fill(0)  # whatever the memory held
            if call.startswith(("np.linalg.eig(", "np.linalg.eigvals(")) and given[0] == wanted[0] == "value":
                given, wanted = (("value", _as_complex(each[1])) for each in (given, wanted))  # docs/deviations.md
            found = self.compared(wanted, given)
            if found == "wrong" or not is_same(changes, [callables.observed(space), argument]):
                return Verdict(
                    call, "wrong", f"{_short(given[1])} is not {_short(wanted[1])}, or it has left something else"
                )
        return Verdict(call, found)

    def compiled(self, kernel: Any, argument: Any) -> tuple[str, Any]:
        """The kernel's result, within the time limit, without reaching out of the process."""
        signal.alarm(LONGEST)
        self.watch.is_on = True
        try:
            return outcome(kernel, argument)
        except SystemExit as error:
            return "error", error
        finally:
            self.watch.is_on = False
            signal.alarm(0)

    def compared(self, wanted: tuple[str, Any], given: tuple[str, Any]) -> str:
        if self.watch.seen:
            self.watch.seen.clear()
            return "wrong"
        if wanted[0] == "value" and other_numpys.has_changed(given[1], wanted[1]):
            return "refused"
        if given[0] == wanted[0] == "error":
            return "same error" if type(given[1]) is type(wanted[1]) else "wrong"
        return "equal" if given[0] == wanted[0] == "value" and is_same(given[1], wanted[1]) else "wrong"


def _as_complex(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value)(*map(_as_complex, value))
    return value.astype(np.result_type(value.dtype, np.complex64))


def _short(value: Any) -> str:
    try:
        return f"{type(value).__name__} {value!r}"[:200]
    except Exception:
        return type(value).__name__


def _too_long(number: int, frame: Any) -> None:
    raise TimeoutError(f"longer than {LONGEST} s")


def parts() -> Mapping[str, list[str]]:
    """Everything that is called, in parts that take about as long."""
    found = {module: callables.names(module) for module in callables.MODULES}
    numpy = found.pop("np")
    third = -(-len(numpy) // 3)
    found |= {f"np {number + 1}": numpy[number * third : (number + 1) * third] for number in range(3)}
    methods = callables.methods()
    half = -(-len(methods) // 2)
    return {**found, "methods 1": methods[:half], "methods 2": methods[half:]}


def walk(names: Sequence[str], natively: int = 1) -> list[Verdict]:
    signal.signal(signal.SIGALRM, _too_long)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        return list(Walk(Path(folder), natively).run(names))


PAGE = """# Callables with hidden state: what has been run

`make purity` writes this page. It calls every public callable of the modules below in a kernel, as its users write it,
with arguments that plain Python accepts: constants; captured containers, generators, iterators and functions; the
kernel's argument. `methods` are the methods of random generators, containers, iterators, texts, numbers, arrays, dates.
Each kernel is called twice. Between the calls everything changes that a callable may depend on: the contents of the
captured lists, dicts, sets and arrays, a captured number, all random generators, an iterator, the environment, the
modes of `np.seterr` and `np.set_printoptions`. A call is good if both times its result (classes, dtypes, values) and
what it leaves in all of these are plain Python's, or if it is refused at its line. Callables that stop the process,
wait or write are not called in plain Python; an audit hook and the process's end show that the compiler does not call
them either.

| module | callables | calls | equal | same error | refused | wrong |
|---|---|---|---|---|---|---|
"""


def page(count: Mapping[str, collections.Counter[str]]) -> str:
    rows = []
    for module, found in count.items():
        bad = found["calls"] - sum(found[how] for how in GOOD)
        cells = [*(found[name] for name in ("callables", "calls", *GOOD)), bad or "none"]
        rows.append(f"| {module} | {' | '.join(map(str, cells))} |\n")
    return f"{PAGE}{''.join(rows)}\nThe tests run all of it: `tests/unit/frontend/test_purity.py`.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--natively", type=int, default=1, metavar="N")
    given = parser.parse_args()
    all_parts = parts()
    target = given.page and given.page.resolve()
    count: dict[str, collections.Counter[str]] = {}
    for part in given.parts or all_parts:
        verdicts = walk(all_parts[part], given.natively)
        tally = count.setdefault(part.split()[0], collections.Counter())
        tally.update({"callables": len(all_parts[part]), "calls": len(verdicts)})
        tally.update(verdict.how for verdict in verdicts)
        for verdict in verdicts:
            if verdict.how not in GOOD:
                print(json.dumps(asdict(verdict)), flush=True)
    print(json.dumps({part: dict(tally) for part, tally in count.items()}))
    if target:
        target.write_text(page(count))


if __name__ == "__main__":
    main()
