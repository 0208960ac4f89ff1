"""`python -m mlirad.testing.calls`: a campaign of random calls.

Reads: options. Writes: the log, the summary. Leaves: the exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mlirad.testing.calls.campaign_of_calls import judged, run
from mlirad.testing.calls.campaign_page import page


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random calls of NumPy's functions, compiled, with NumPy.")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds, of twenty calls each")
    parser.add_argument("--log", type=Path, default=Path("build/fuzz/calls.jsonl"), help="what it has is not run again")
    parser.add_argument("--show", action="store_true", help="judge the first seed here, and print what was found")
    parser.add_argument("--page", type=Path, help="where a summary of the whole log goes")
    options = parser.parse_args()
    if options.show:
        print(judged(options.first).text())
        return 0
    summary = run(range(options.first, options.first + options.count), options.log)
    print(summary.text())
    if options.page is not None:
        options.page.write_text(page(summary))
    return bool(summary.wrong)


if __name__ == "__main__":
    raise SystemExit(main())
