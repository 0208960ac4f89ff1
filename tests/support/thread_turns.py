"""Whether a thread runs while another one is in a long call."""

from __future__ import annotations

import threading
from collections.abc import Callable


def turns_during(call: Callable[[], object], most: int = 20) -> int:
    """How often this thread has its turn, of `most` times, while another one makes a call."""
    turns, done = 0, threading.Event()

    def work() -> None:
        call()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set() and turns < most:
        done.wait(0.001)
        turns += 1
    thread.join()
    return turns
