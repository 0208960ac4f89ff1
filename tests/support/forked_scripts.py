"""Python scripts for tests: each is `__main__` of a process of its own, forked from one that has compiled.

Reads: scripts, by their paths. Writes: what they write. Leaves: their output and exit codes; no process.

A new interpreter would import for two seconds before it compiles, which is half of the time of many examples.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import forked_opt
import numpy as np

import mlirad


class Scripts:
    """Runs scripts, like `subprocess.run`."""

    def __init__(self, place: str):
        self.place = place

    def run(self, path: Path, *arguments: str, folder: Path, seconds: int) -> subprocess.CompletedProcess[str]:
        """The script's exit code and output; it is killed after so many seconds."""
        command = {"arguments": [str(path), *arguments], "folder": str(folder), "environment": dict(os.environ)}
        command["environment"][LONGEST] = str(seconds)
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
            open(os.devnull) as nothing,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked,
        ):
            asked.connect(self.place)
            streams = [each.fileno() for each in (nothing, out, err)]
            socket.send_fds(asked, [json.dumps(command).encode()], streams)
            code = asked.recv(1)  # nothing, if the process was killed
            return subprocess.CompletedProcess(path, code[0] if code else -1, _text(out), _text(err))


LONGEST = "SECONDS_OF_THE_SCRIPT"


def _text(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()


@contextmanager
def started() -> Iterator[Scripts]:
    """While the process runs that others are forked from."""
    folder = tempfile.mkdtemp(prefix="mlirad-scripts-")
    place = str(Path(folder, "socket"))
    server = subprocess.Popen([sys.executable, __file__, place], stdin=subprocess.PIPE)
    try:
        while not Path(place).exists():
            assert server.poll() is None, "the process that runs scripts has ended"
            time.sleep(0.01)
        yield Scripts(place)
    finally:
        server.communicate()
        shutil.rmtree(folder)


def begin() -> None:
    """Import what every gradient imports."""
    mlirad.grad(lambda x: np.sum(x * x))(np.ones(3))


def run() -> None:
    """The script in `sys.argv`, as Python runs it."""
    signal.alarm(int(os.environ.pop(LONGEST, "0")))
    del sys.argv[0]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    begin()
    forked_opt.serve(sys.argv[1], "python", run)
