"""The tests under other versions of Python and NumPy: the wheel, in environments of their own, outside of the clone.

`python tests/support/versions.py --one` runs the newest Python at hand with the oldest NumPy and a few tests, for CI.
Without it all corners of the matrix are run, and `--page FILE` writes what has been run. `--corner 3.13 2.1.*` and
names of tests restrict it.

Reads: pyproject.toml, the Pythons on the path and pyenv's. Writes: build/versions. Leaves: 1 where something failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/versions"
LOG = BUILD / "runs.jsonl"

ALL = ("tests/unit", "tests/filecheck")
SOME = (
    "tests/unit/frontend/test_newer_syntax.py",
    "tests/unit/frontend/test_nep50.py",
    "tests/unit/frontend/test_stores_and_powers.py",
    "tests/unit/frontend/test_matching.py",
    "tests/unit/jit/test_fast_calls.py",
    "tests/unit/jit/test_deviations.py",
    "tests/unit/library/test_keywords.py",
)
"""Where versions differ: syntax, dtypes, what functions take, and objects in memory."""

# What is run in a directory that has nothing of the clone. The README's first program prints what it says there.
PROGRAM = """
import json, sys
from importlib.metadata import entry_points
from pathlib import Path
import numpy as np
import mlirad

package = Path(mlirad.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "py.typed").exists()
assert json.loads((package / "frontend/program/coverage.json").read_text())
assert {"cpu", "python"} <= {each.name for each in entry_points(group="mlirad.targets")}
README
for target in ("cpu", "python"):
    found = mlirad.value_and_grad(mlirad.jit(loss, target=target))(np.array([1.0, 2.0, 3.0]), 1.1)
    np.testing.assert_allclose(found[1], [1.34505199, -1.10198916, 6.47145881], rtol=1e-8)
"""
EXPECTED = "[ 1.34505199 -1.10198916  6.47145881]"


@dataclass(frozen=True)
class Python:
    """An interpreter: its path, and its version, 3.13.0 say."""

    path: str
    version: str

    @property
    def minor(self) -> str:
        return self.version.rpartition(".")[0]


@dataclass(frozen=True)
class Run:
    """The outcome of tests in an environment. numpy: its version. seconds: of the tests."""

    python: str
    numpy: str
    tests: tuple[str, ...]
    passed: int
    failed: tuple[str, ...]
    skipped: int
    seconds: int
    day: str


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def claimed() -> list[str]:
    """The versions of Python that the package claims to run under, the oldest first."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in project()["classifiers"]]
    return sorted((each[1] for each in found if each), key=lambda minor: int(minor[2:]))


def oldest_numpy() -> str:
    """The oldest NumPy that the package claims, as pip is asked for it: 2.1.*"""
    (found,) = (re.match(r"numpy>=(\d+\.\d+)", each) for each in project()["dependencies"] if "numpy" in each)
    assert found is not None
    return f"{found[1]}.*"


def pythons() -> list[Python]:
    """The newest interpreter at hand of each claimed version; of the running one's version, the running one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: list[Python] = []
    for minor in claimed():
        on_path = shutil.which(f"python{minor}")
        of_pyenv = sorted(pyenv.glob(f"{minor}.*/bin/python"), key=lambda each: int(each.parts[-3].split(".")[2]))
        own = [sys.executable] if sys.version_info[:2] == tuple(map(int, minor.split("."))) else []
        for path in (*own, *([on_path] if on_path else ()), *map(str, reversed(of_pyenv))):
            # Debian's may be without ensurepip, pyenv's link on the path without an interpreter.
            asked = "import ensurepip, platform; print(platform.python_version())"
            done = subprocess.run([path, "-c", asked], capture_output=True, text=True, check=False)
            if done.returncode == 0 and done.stdout.startswith(f"{minor}."):
                found.append(Python(path, done.stdout.strip()))
                break
    return found


@cache
def wheel() -> Path:
    """The wheel of this tree."""
    folder = BUILD / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(pip, check=True)
    (made,) = folder.glob("*.whl")
    return made


def environment(python: Python, numpy: str, extras: str) -> Path:
    """The folder of programs of an environment with the wheel, and a version of NumPy as pip is asked for it."""
    folder = BUILD / f"{python.version}-{numpy.removesuffix('.*') or 'newest'}"
    programs = folder / "bin"
    is_new = not (programs / "pip").exists()
    if is_new:
        subprocess.run([python.path, "-m", "venv", str(folder)], check=True)
    wanted = f"numpy=={numpy}" if numpy else "numpy"
    tools = [] if "test" in extras else [each for each in project()["optional-dependencies"]["test"] if _is_small(each)]
    pip = [str(programs / "pip"), "install", "-q", "--no-compile", "--upgrade-strategy", "only-if-needed"]
    subprocess.run([*pip, f"{wheel()}[{extras}]", wanted, *tools], check=True)
    if not is_new:  # pip would keep what it has installed before under the same version
        subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel())], check=True)
    return programs


def _is_small(requirement: str) -> bool:
    return re.match(r"pytest|hypothesis", requirement) is not None


def try_wheel(programs: Path) -> None:
    """The README's first program and command, where there is nothing of the clone. Raises CalledProcessError."""
    readme = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert readme is not None and EXPECTED in readme[1]
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MLIRAD_CACHE_DIR")}
        env = {**kept, "MLIRAD_CACHE_DIR": f"{folder}/cache"}
        program = Path(folder, "program.py")
        program.write_text(PROGRAM.replace("README", readme[1]))

        def run(*command: str) -> str:
            print(" ", command[0].rpartition("/")[2], *command[1:], flush=True)
            return subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout

        assert EXPECTED in run(str(programs / "python"), "program.py")
        assert "sum" in run(str(programs / "mlirad"), "coverage", "numpy.sum")
        (told,) = re.findall(r"^test accuracy.*", run(str(programs / "mlirad"), "demo"), re.MULTILINE)
        print("   ", told)


def cases_of(report: Path) -> list[ElementTree.Element]:
    """The tests in pytest's report; none where the process ended before it wrote one."""
    return list(ElementTree.parse(report).iter("testcase")) if report.exists() else []


def run_tests(programs: Path, tests: Sequence[str], jobs: int) -> Run:
    """Run tests of the clone on what is installed: they must not find the package beside them."""
    report = BUILD / "report.xml"
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for name in ("PYTHONPATH", "MLIRAD_CI"):
        env.pop(name, None)
    several = ["-n", str(jobs)] if jobs > 1 and (programs / "ruff").exists() else []
    options = "-q -o pythonpath=tests/support -p no:cacheprovider --continue-on-collection-errors".split()
    command = [str(programs / "pytest"), *options]
    report.unlink(missing_ok=True)
    start = time.monotonic()
    done = subprocess.run([*command, *several, f"--junitxml={report}", *tests], cwd=ROOT, env=env, check=False)
    seconds = round(time.monotonic() - start)
    cases, ended = cases_of(report), done.returncode
    names = {each: f"{each.get('classname')}::{each.get('name')}" for each in cases}
    failed = tuple(names[each] for each in cases if each.find("failure") is not None or each.find("error") is not None)
    if not failed and (ended or not cases):
        failed = (f"pytest itself, which ended with code {ended}",)
    skipped = sum(each.find("skipped") is not None for each in cases)
    asked = "import platform, numpy; print(platform.python_version(), numpy.__version__)"
    done = subprocess.run([str(programs / "python"), "-c", asked], capture_output=True, text=True, check=True)
    python, numpy = done.stdout.split()
    passed = max(len(cases) - len(failed) - skipped, 0)
    return Run(python, numpy, tuple(tests), passed, failed, skipped, seconds, str(date.today()))


PAGE = """# Versions of Python and NumPy: what has been run

`make versions` installs the wheel in a separate environment for each corner, runs the README's first program and
`mlirad demo` there, in a directory without the clone, and then these tests of the clone. `.ci/run` does the same in one
corner: the newest available Python with the oldest NumPy.

| Python | NumPy | tests | passed | failed | skipped | seconds | date |
|---|---|---|---|---|---|---|---|
"""


def page(runs: Sequence[Run]) -> str:
    lines: list[str] = []
    for run in runs:
        tests = "some" if run.tests == SOME else ", ".join(f"`{each}`" for each in run.tests)
        cells = [run.python, run.numpy, tests, f"{run.passed:,}", f"{len(run.failed)}", f"{run.skipped:,}"]
        lines.append(f"| {' | '.join(cells)} | {run.seconds:,} | {run.day} |\n")
    failed = [f"* Python {run.python}, NumPy {run.numpy}: `{name}`\n" for run in runs for name in run.failed]
    some = "\nSome: " + ", ".join(f"`{each.removeprefix('tests/unit/')}`" for each in SOME) + ".\n"
    return "".join([PAGE, *lines, some, *(["\nFailed:\n\n", *failed] if failed else [])])


def keep(run: Run) -> None:
    with LOG.open("a") as log:
        log.write(json.dumps(asdict(run)) + "\n")


def logged() -> list[Run]:
    """The last run of each corner and tests."""
    latest: dict[tuple[Any, ...], Run] = {}
    for line in LOG.read_text().splitlines() if LOG.exists() else ():
        told = json.loads(line)
        run = Run(**{**told, "tests": tuple(told["tests"]), "failed": tuple(told["failed"])})
        latest[run.python, run.numpy, run.tests] = run
    return sorted(latest.values(), key=lambda run: [int(x) for x in f"{run.python}.{run.numpy}".split(".")])


def corners(found: Sequence[Python]) -> list[tuple[Python, str, tuple[str, ...]]]:
    """Each Python with the oldest and the newest NumPy; what is between, with the oldest Python. The last one with each
    runs all tests."""
    last, oldest = found[-1], oldest_numpy()
    made = [(each, numpy, ALL if each == last else SOME) for each in found for numpy in (oldest, "")]
    return [*made, *((found[0], numpy, SOME) for numpy in ("2.2.*", "2.3.*"))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--corner", nargs=2, metavar=("PYTHON", "NUMPY"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    found = pythons()
    print("Pythons at hand:", ", ".join(f"{each.version} ({each.path})" for each in found), flush=True)
    if options.one:
        chosen = [(found[-1], oldest_numpy(), SOME)]
    elif options.corner:
        minor, numpy = options.corner
        chosen = [(each, numpy.replace("newest", ""), ALL) for each in found if each.minor == minor]
    else:
        chosen = corners(found)
    if not chosen:
        parser.error(f"there is no Python {options.corner[0]} at hand")
    code = 0
    for python, numpy, tests in chosen:
        print(f"\n== Python {python.version}, NumPy {numpy or 'newest'}", flush=True)
        programs = environment(python, numpy, "examples" if options.one else "test,examples")
        try_wheel(programs)
        run = run_tests(programs, tuple(options.tests) or tests, options.jobs)
        print(f"Python {run.python}, NumPy {run.numpy}: {run.passed} passed, {len(run.failed)} failed", flush=True)
        keep(run)
        code |= bool(run.failed) or not run.passed
    if options.page:
        options.page.write_text(page(logged()))
    return code


if __name__ == "__main__":
    sys.exit(main())
