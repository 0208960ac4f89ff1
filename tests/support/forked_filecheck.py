"""`filecheck` for lit: each command is a process of its own, forked from one that has started.

Reads: what `ask_forked_opt.py` sends to the socket, with its streams. Writes: what `filecheck` writes to them.
Leaves: no process after the one that started it has ended.
"""

from __future__ import annotations

import sys

import forked_opt
from filecheck.main import main

if __name__ == "__main__":
    forked_opt.serve(sys.argv[1], "filecheck", main)
