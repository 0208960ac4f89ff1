"""Reads: tests/filecheck. Writes: lit's Output folders. Leaves: the same verdicts as pytest, by processes."""

# ruff: noqa: F821  (lit executes this file with `config` and `lit_config` defined)
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
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

# `python` is this interpreter. `mlirad-opt` is a process for each command, forked from one that has imported it.
support = root / "support"
folder = tempfile.mkdtemp(prefix="mlirad-lit-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
place = str(Path(folder, "socket"))
server = subprocess.Popen(
    [sys.executable, str(support / "forked_opt.py"), place], stdin=subprocess.PIPE, env=config.environment
)
while not Path(place).exists() and server.poll() is None:
    time.sleep(0.01)
ask = f"{sys.executable} -ISE {support / 'ask_forked_opt.py'} {place}"
config.substitutions.append((r"(?<![\w/.-])mlirad-opt(?![\w.-])", ask))
config.substitutions.append((r"(?<![\w/.-])python(?![\w.-])", sys.executable))
