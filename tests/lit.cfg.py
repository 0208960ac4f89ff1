"""Reads: tests/filecheck. Writes: lit's Output folders. Leaves: the same verdicts as pytest, by processes."""

# ruff: noqa: F821  (lit executes this file with `config` and `lit_config` defined)
import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent
config.name = "mlirad"
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = str(root / "filecheck")
config.test_exec_root = str(root / "filecheck")
config.suffixes = [".mlir", ".py"]
config.excludes = ["test_filecheck.py"]

# The tools of the interpreter that runs lit come first, and the tree under test before an installed copy.
config.environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
config.environment["PYTHONPATH"] = os.pathsep.join(
    part for part in (str(root.parent), os.environ.get("PYTHONPATH", "")) if part
)
for name in ("HOME", "MLIRAD_CI"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["MLIRAD_CACHE"] = "0"

# `mlirad-opt` and `python` run in this interpreter, also where no script is installed.
# A process that ends after a second collects no garbage.
opt = f"{sys.executable} -c 'import gc, sys; gc.disable(); from mlirad.opt import main; sys.exit(main())'"
config.substitutions.append((r"(?<![\w/.-])mlirad-opt(?![\w.-])", opt))
config.substitutions.append((r"(?<![\w/.-])python(?![\w.-])", sys.executable))
