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

# Each command is a process of its own, forked from one that has imported: mlirad-opt, python for a script, filecheck.
support = root / "support"
folder = tempfile.mkdtemp(prefix="mlirad-lit-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
servers = {}
scripts = {"mlirad-opt": "forked_opt.py", "python": "forked_scripts.py", "filecheck": "forked_filecheck.py"}
for command, script in scripts.items():
    place = str(Path(folder, command))
    # It ends with the pipe, and so with this process.
    servers[place] = subprocess.Popen(
        [sys.executable, str(support / script), place], stdin=subprocess.PIPE, env=config.environment
    )
    ask = f"{sys.executable} -ISE {support / 'ask_forked_opt.py'} {place}"
    config.substitutions.append((rf"(?<![\w/.-]){command}(?![\w.-])", ask))
while any(not Path(place).exists() and server.poll() is None for place, server in servers.items()):
    time.sleep(0.01)
