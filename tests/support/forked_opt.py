"""`mlirad-opt` for lit: each command is a process of its own, forked from one that has started.

Reads: what `ask_forked_opt.py` sends to the socket, with its streams. Writes: what `mlirad-opt` writes to them.
Leaves: no process after the one that started it has ended.

A new interpreter would import for a second: most of the time of a FileCheck test. Before the fork there is only
what every run of `mlirad-opt` imports, so a process still shows that its passes import what they use.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from mlirad.opt import main


def serve(place: str, program: str, run: Callable[[], object]) -> None:
    """Answers until the standard input ends, which the process that started this one holds open.

    run: the program, which takes its arguments from `sys.argv`.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"{place}.new")
    listening.listen(64)
    os.rename(f"{place}.new", place)  # who finds it can connect
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes the children that have ended
    threading.Thread(target=end_with_input, daemon=True).start()
    while True:
        asked, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            answer(asked, program, run)
        asked.close()  # it ends with the child, however that ends


def end_with_input() -> None:
    os.read(0, 1)
    os._exit(0)


def answer(asked: socket.socket, program: str, run: Callable[[], object]) -> None:
    """Runs one command, in a child that ends with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, _, _ = socket.recv_fds(asked, 1 << 20, 3)
    command = json.loads(text)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # A text stream remembers what it was opened on: a pipe cannot be asked for its place, as a file can.
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode, closefd=False) for number, mode in enumerate("rww"))
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.argv = [program, *command["arguments"]]
    try:
        code = run()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 1
    asked.send(bytes([code if isinstance(code, int) else 0]))
    os._exit(0)


def begin(place: str) -> None:
    """Import what every run of `mlirad-opt` imports; a pass imports the rest in its own process."""
    empty = Path(f"{place}.mlir")
    empty.write_text("module {}")
    main([str(empty), "-o", os.devnull])
    gc.disable()  # a process that ends after a second collects no garbage


if __name__ == "__main__":
    begin(sys.argv[1])
    serve(sys.argv[1], "mlirad-opt", main)
