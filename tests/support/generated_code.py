"""The net under a change that only moves code: what is generated for some 300 programs, twice.

`python tests/support/generated_code.py record DIR` writes, for each program and each gradient, stage `optimized` with
its names numbered, stage `asm`, and what is refused. `... compare BEFORE AFTER` prints what differs; it exits with 1
if anything does. The programs are random ones of all biases, the benchmarks' and the examples'.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCES = Path(tempfile.gettempdir()) / "mlirad-generated-code"
"""One place for both recordings: messages name the file."""
SEEDS = range(900_000, 900_029)
"""Of each bias."""
STAGES = {"optimized": "mlir", "asm": "s"}


def random_program(bias: str, seed: int) -> Iterator[tuple[str, Any, list[Any]]]:
    """The function, and the gradient of its loss."""
    import mlirad
    from mlirad.testing.programs.generate import generate
    from mlirad.testing.programs.oracle import namespace_of

    program = generate(seed, bias)
    namespace = namespace_of(program, SOURCES)
    name = f"{bias}_{seed}"
    yield name, mlirad.jit(namespace["f"]), program.arguments(0)
    if program.floats:
        argnums = tuple(k for k, each in enumerate(program.parameters) if each in program.floats)
        gradient = mlirad.value_and_grad(namespace["loss"], argnums=argnums)
        yield f"{name}_gradient", gradient, program.arguments(0, generic=True)


def benchmark(name: str) -> Iterator[tuple[str, Any, list[Any]]]:
    import mlirad

    sys.path.insert(0, str(ROOT / "benchmarks"))
    program = importlib.import_module(f"programs.{name}")
    arguments = list(program.arguments(program.SIZES[0]))
    yield f"benchmark_{name}", mlirad.jit(program.loss), arguments
    yield f"benchmark_{name}_gradient", mlirad.value_and_grad(program.loss, argnums=program.ARGNUMS), arguments


def numbered(text: str) -> str:
    """A stage with its values' names numbered in the order in which they come."""
    names: dict[str, str] = {}
    return re.sub(r"%[\w$.-]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), text)


def record_one(directory: Path, kind: str, *which: Any) -> int:
    """Write what is generated for a program. Returns how many functions these are."""
    from mlirad.errors import CompileError

    warnings.simplefilter("ignore")
    found = 0
    for name, kernel, arguments in (random_program if kind == "random" else benchmark)(*which):
        found += 1
        try:
            lowered = kernel.lower(*arguments)
            texts = {f"{stage}.{end}": lowered.as_text(stage) for stage, end in STAGES.items()}
            texts["optimized.mlir"] = numbered(texts["optimized.mlir"])
        except CompileError as error:
            texts = {"refused.txt": str(error)}
        for end, text in texts.items():
            (directory / f"{name}.{end}").write_text(text)
    return found


def record_example(directory: Path, path: Path) -> int:
    """Write what is generated while an example runs, from its dumps."""
    from mlirad.dialect_version import stamped

    with tempfile.TemporaryDirectory() as dumps:
        environment = {**os.environ, "MLIRAD_DUMP": dumps, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, path], env=environment, check=True, stdout=subprocess.DEVNULL)
        kernels = sorted(each for each in Path(dumps).iterdir() if each.is_dir())
        for kernel in kernels:
            for stage, end in STAGES.items():
                (dumped,) = kernel.glob(f"*-{stage}.{end}")
                text = dumped.read_text().removeprefix(stamped(""))
                name = f"example_{path.stem}_{kernel.name}.{stage}.{end}"
                text = re.sub(r"(\.size\tmlirad\.manifest, )\d+", r"\1?", text.replace(str(ROOT), "ROOT"))
                (directory / name).write_text(numbered(text) if stage == "optimized" else text)
    return len(kernels)


def record(directory: Path) -> int:
    """Write what is generated for all programs. Returns how many functions these are."""
    os.environ["MLIRAD_CACHE"] = "0"
    shutil.rmtree(directory, ignore_errors=True)
    for each in (directory, SOURCES):
        each.mkdir(parents=True, exist_ok=True)
    from mlirad.testing.programs.generate import BIASES

    work: list[tuple[Any, ...]] = [(directory, "random", bias, seed) for seed in SEEDS for bias in BIASES]
    benchmarks = sorted(path.stem for path in (ROOT / "benchmarks" / "programs").glob("[a-z]*.py"))
    work += [(directory, "benchmark", name) for name in benchmarks]
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count(), maxtasksperchild=50) as pool:
        found = sum(pool.starmap(record_one, work, chunksize=4))
    examples = sorted((ROOT / "examples").glob("*.py"))
    found += sum(record_example(directory, path) for path in examples)
    print(f"{len(work) + len(examples)} programs, {found} functions")
    return found


def compare(before: Path, after: Path) -> int:
    """Print what differs. Returns 1 if anything does."""
    names = sorted({path.name for directory in (before, after) for path in directory.iterdir()})
    different: dict[str, int] = {}
    for name in names:
        texts = [(each / name).read_text() if (each / name).exists() else None for each in (before, after)]
        if texts[0] == texts[1]:
            continue
        stage = name.split(".", 1)[1]
        different[stage] = different.get(stage, 0) + 1
        if None in texts:
            print(f"{name}: only {'after' if texts[0] is None else 'before'}")
            continue
        first, second = (text.splitlines() for text in texts if text is not None)
        pairs = ((x, y) for x, y in zip([*first, ""], [*second, ""], strict=False) if x != y)
        x, y = next(pairs, ("", ""))
        print(f"{name}:\n  - {x.strip()[:160]}\n  + {y.strip()[:160]}")
    told = ", ".join(f"{count} of stage {stage}" for stage, count in sorted(different.items()))
    print(f"{len(names)} texts: " + (f"different are {told}" if told else "the same to the byte"))
    return int(bool(different))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("directory", type=Path)
    for name in ("before", "after"):
        (commands.choices.get("compare") or commands.add_parser("compare")).add_argument(name, type=Path)
    options = parser.parse_args()
    if options.command == "record":
        return int(not record(options.directory))
    return compare(options.before, options.after)


if __name__ == "__main__":
    sys.exit(main())
