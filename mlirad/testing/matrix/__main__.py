"""`python -m mlirad.testing.matrix`: judge the cells, and write the page.

Reads: nothing. Writes: the page, if all cells are judged. Exits with 1 if one is neither right nor refused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mlirad.testing.matrix.judge_cells import CELLS, REASONS, RIGHT
from mlirad.testing.matrix.kinds_of_programs import PROGRAMS
from mlirad.testing.matrix.matrix_page import page


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mlirad.testing.matrix", description=main.__doc__)
    parser.add_argument("--program", choices=[program.name for program in PROGRAMS], help="this program only")
    parser.add_argument("--page", type=Path, help="where the page goes")
    given = parser.parse_args()
    verdicts: dict[str, str] = {}
    fine = {RIGHT, *(reason.letter for reason in REASONS)}
    for cell in CELLS:
        if given.program in (None, cell.program.name):
            verdicts[str(cell)] = found = cell.verdict()
            if found not in fine:
                print(f"{cell}: {found}", flush=True)
    failed = sum(each not in fine for each in verdicts.values())
    print(f"{len(verdicts)} cells, {failed} of them wrong or refused without a reason")
    if given.page is not None and len(verdicts) == len(CELLS) and not failed:
        given.page.write_text(page(verdicts))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
