"""Two programs side by side: in the terminal, and as an HTML page that needs nothing else.

Reads: programs. Writes: text. Leaves: nothing.
"""

from __future__ import annotations

import html
import io
import keyword
import tokenize
from collections.abc import Iterator
from itertools import zip_longest

from mlirad.explaining.explain import Explained

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em; color: #222; background: #fff }}
.both {{ display: flex; flex-wrap: wrap; gap: 2em }}
pre {{ background: #f6f6f4; padding: 1em; line-height: 1.4; overflow-x: auto }}
.c {{ color: #6a737d }} .k {{ color: #a626a4 }} .n {{ color: #986801 }} .s {{ color: #50a14f }}
</style>
<h1>{title}</h1>
<div class="both">
<section><h2>{name}</h2><pre>{function}</pre></section>
<section><h2>{derivative}</h2><pre>{adjoint}</pre></section>
</div>
</html>
"""


def in_columns(found: Explained, width: int | None = None) -> str:
    """Both programs next to one another; one below the other if they are wider than the terminal."""
    left, right = _body(found.function), _body(found.adjoint)
    longest = max(map(len, left), default=0)
    if width is not None and longest + 3 + max(map(len, right), default=0) > width:
        return "\n".join([*left, "", "", *right])
    rows = zip_longest(left, right, fillvalue="")
    return "\n".join(f"{one:{longest}} | {other}".rstrip() for one, other in rows)


def as_page(found: Explained) -> str:
    """The page."""
    return _PAGE.format(
        title=html.escape(f"{found.name} and {found.derivative}"),
        name=html.escape(found.name),
        derivative=html.escape(found.derivative),
        function="".join(_coloured("\n".join(_body(found.function)))),
        adjoint="".join(_coloured("\n".join(_body(found.adjoint)))),
    )


def _body(source: str) -> list[str]:
    """The lines of a program, without the import that all have."""
    return source.removeprefix("import numpy as np\n").strip("\n").splitlines()


def _coloured(source: str) -> Iterator[str]:
    """The source as HTML, in which comments, keywords, numbers and strings have a class."""
    lines = source.splitlines(keepends=True)
    row, column = 1, 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = _CLASSES.get(token.type) or ("k" if keyword.iskeyword(token.string) else "")
        if not kind:
            continue
        yield html.escape(_between(lines, (row, column), token.start))
        yield f'<span class="{kind}">{html.escape(token.string)}</span>'
        row, column = token.end
    yield html.escape(_between(lines, (row, column), (len(lines) + 1, 0)))


_CLASSES = {tokenize.COMMENT: "c", tokenize.NUMBER: "n", tokenize.STRING: "s"}


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    first = lines[start[0] - 1][start[1] :] if start[0] <= len(lines) else ""
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return first + "".join(lines[start[0] : end[0] - 1]) + last
