"""The computational graph as a picture: its layout, what is on it, and what a browser makes of it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mlirad
from mlirad.cli import main
from mlirad.explaining.pictures.nested_layout import GraphLayout, GraphNode, Net, Rectangle, laid_out
from mlirad.explaining.text_width import cut, width_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def textbook(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def newton(a):
    x = np.array([a, 0.0])
    while abs(x[0] * x[0] - a) > 1e-10:
        x[0] = 0.5 * (x[0] + a / x[0])
    return x[0]


def branches(x):
    total = 0.0
    for i in range(3):
        if x[i] > 0.5:
            total = total + x[i] ** 2
        else:
            total = total - np.sin(x[i])
    return total, x.sum()


def texts(svg: str) -> list[str]:
    """All texts of a picture, in the order of the file."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("}text")]


def test_the_textbooks_graph() -> None:
    shown = texts(mlirad.trace(textbook, 2.0, 5.0, direction=(1.0, 0.0)).svg())
    for node in (
        ["v₋₁ = x1", "= 2", "v̇₋₁ = 1", "v̄₋₁ = 5.5"],
        ["v₀ = x2", "= 5", "v̇₀ = 0", "v̄₀ = 1.716"],
        ["v₁", "= log(v₋₁)", "= 0.693", "v̇₁ = 0.5", "v̄₁ = 1"],
        ["v₃", "= sin(v₀)", "= -0.959", "v̇₃ = 0", "v̄₃ = -1"],
        ["v₅", "= v₄ - v₃", "= 11.652", "v̇₅ = 5.5", "v̄₅ = 1"],
        ["y = 11.652", "ẏ = 5.5", "ȳ = 1"],
    ):
        start = shown.index(node[0])
        assert shown[start : start + len(node)] == node


def test_loops_and_branches_are_boxes() -> None:
    shown = texts(mlirad.trace(newton, 2.0).svg())
    line = newton.__code__.co_firstlineno + 2
    assert [text for text in shown if text.startswith(("while", "trip", "⋮"))] == [
        f"while at line {line}",
        "trip 1",
        "trip 2",
        "trip 5",
        "⋮ trips 3 to 4",
    ]
    assert {"v₁₂ = x", "= v₁ with [0] = v₁₁", "v̄₀ = 0.354"} <= set(shown)
    assert not [text for text in shown if text.startswith("v₃₀")]  # of a trip that is hidden
    sides = texts(mlirad.trace(branches, np.array([1.0, 0.2, 0.7])).svg())
    line = branches.__code__.co_firstlineno + 3
    assert [text for text in sides if "if" in text] == [
        f"if at line {line}",
        f"else, of the if at line {line}",
        f"if at line {line}",
    ]
    assert [text for text in sides if text.startswith("y")] == ["y₁ = 1.291", "y₂ = 1.9"]


@pytest.mark.parametrize(("name", "function", "args"), [("textbook", textbook, (2.0, 5.0)), ("newton", newton, (2.0,))])
def test_the_docs_show_what_is_drawn(name: str, function: Any, args: tuple[float, ...]) -> None:
    """`python tests/unit/explaining/test_graphs.py` draws them again."""
    assert docs_picture(name).read_text() == drawn_for_docs(function, args)


def docs_picture(name: str) -> Path:
    return Path(__file__).resolve().parents[3] / "docs" / "pictures" / f"{name}-graph.svg"


def drawn_for_docs(function: Any, args: tuple[float, ...]) -> str:
    """The picture, in which lines are counted from the function's first one."""
    first = function.__code__.co_firstlineno
    picture = mlirad.trace(function, *args).svg() + "\n"
    return re.sub(r"at line (\d+)", lambda found: f"at line {int(found[1]) - first + 1}", picture)


def random_graph(random: np.random.Generator) -> tuple[GraphNode, list[Net]]:
    """Leaves in boxes of boxes, and nets from leaves to later ones."""
    leaves = [GraphNode(None, float(random.integers(20, 120)), float(random.integers(20, 70))) for _ in range(40)]
    nodes: list[GraphNode] = list(leaves)
    for _ in range(5):
        start = int(random.integers(len(nodes) - 4))
        stop = start + int(random.integers(2, 5))
        nodes[start:stop] = [GraphNode("", children=tuple(nodes[start:stop]), is_sequence=bool(random.integers(2)))]
    nets = []
    for number, leaf in enumerate(leaves[:-1]):
        sinks = random.choice(np.arange(number + 1, 40), min(3, 39 - number), replace=False)
        nets.append(Net(leaf, tuple(leaves[each] for each in sinks)))
    return GraphNode("", children=tuple(nodes)), nets


@pytest.mark.parametrize("seed", range(6))
def test_nodes_do_not_overlap_and_lines_reach_them(seed: int) -> None:
    root, nets = random_graph(np.random.default_rng(seed))
    found = laid_out(root, nets)
    check_boxes(found, root, Rectangle(0.0, 0.0, found.width, found.height))
    for net in nets:
        pieces = [line for line in found.lines if line.net is net]
        ends = {line.at for line in pieces} - {None}
        assert ends == set(net.sinks)
        starts = [(line.x, line.start) for line in pieces]
        ended = [(line.end_x, line.tip) for line in pieces]
        source = found.places[net.source]
        for line in pieces:
            assert line.start <= line.bend <= line.end <= line.tip, "lines go down"
            if line.at is not None:
                place = found.places[line.at]
                assert line.tip == pytest.approx(place.y)
                assert place.x < line.end_x < place.x + place.width
        for x, y in starts:  # each piece begins where another ends, or at the source
            at_source = y == pytest.approx(source.y + source.height) and source.x < x < source.x + source.width
            assert at_source or any(abs(x - a) < 1e-6 and abs(y - b) < 1e-6 for a, b in ended)


def check_boxes(found: GraphLayout, node: GraphNode, around: Rectangle) -> None:
    places = [found.places[child] for child in node.children]
    for one, other in combinations(places, 2):
        apart = (
            one.x + one.width <= other.x + 1e-6
            or other.x + other.width <= one.x + 1e-6
            or one.y + one.height <= other.y + 1e-6
            or other.y + other.height <= one.y + 1e-6
        )
        assert apart
    for child, place in zip(node.children, places, strict=True):
        assert around.x - 1e-6 <= place.x
        assert place.x + place.width <= around.x + around.width + 1e-6
        assert around.y - 1e-6 <= place.y
        assert place.y + place.height <= around.y + around.height + 1e-6
        if child.children:
            check_boxes(found, child, place)
    if node.is_sequence:
        assert all(one.y + one.height < other.y for one, other in pairwise(places))


def test_lines_cross_only_where_they_must() -> None:
    tops = [GraphNode(None, 40.0, 20.0) for _ in range(6)]
    order = [3, 0, 5, 1, 4, 2]
    lower = [GraphNode(None, 40.0, 20.0) for _ in order]
    parallel = [Net(tops[number], (node,)) for number, node in zip(order, lower, strict=True)]
    assert laid_out(GraphNode("", children=(*tops, *lower)), parallel).crossings == 0
    inside = GraphNode("", children=tuple(lower))  # and in a box with its ports in this order
    assert laid_out(GraphNode("", children=(*tops, inside)), parallel).crossings == 0
    both = [Net(each, (lower[0], lower[1])) for each in tops[:2]]  # K2,2 crosses once
    assert laid_out(GraphNode("", children=(*tops[:2], *lower[:2])), both).crossings == 1


def test_long_texts_are_cut() -> None:
    assert width_of("v̄₁₂") == 3
    assert cut("v̄₁₂ = 3", 8) == "v̄₁₂ = 3"
    assert cut("v̄v̄v̄", 2) == "v̄…"
    svg = mlirad.trace(lambda x: (np.sin(x) * np.arange(30.0)).reshape(2, 3, 5).sum(), 1.0).svg()
    assert max(map(width_of, texts(svg))) <= 34


MEASURE = """<script>
const wide = [...document.querySelectorAll(".graph g text")].filter(text => {
  const box = text.parentNode.querySelector("rect").getBBox(), own = text.getBBox();
  return own.width < 1 || own.x + own.width > box.x + box.width || own.y + own.height > box.y + box.height;
}).map(text => text.textContent);
document.title = JSON.stringify({wide, texts: document.querySelectorAll(".graph text").length});
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_shows_the_picture(tmp_path: Path) -> None:
    program, page, picture = tmp_path / "program.py", tmp_path / "page.html", tmp_path / "graph.svg"
    source = "def newton(a):\n    x = np.array([a, 0.0])\n    while abs(x[0] * x[0] - a) > 1e-10:\n"
    program.write_text(f"import numpy as np\n\n{source}        x[0] = 0.5 * (x[0] + a / x[0])\n    return x[0]\n")
    assert main(["trace", f"{program}:newton", "2", "--html", str(page), "--svg", str(picture)]) == 0
    page.write_text(page.read_text() + MEASURE)
    title = re.search(r"<title>(.*?)</title>", browsed(page))
    assert title is not None
    assert html.unescape(title[1]) == f'{{"wide":[],"texts":{len(texts(picture.read_text()))}}}'
    assert "parsererror" not in browsed(picture)
    assert "v₁₂ = x" in browsed(picture)


def browsed(path: Path) -> str:
    """The output of headless Chromium for a file, after its scripts have run."""
    assert CHROMIUM is not None
    flags = "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent / 'profile'}", "--dump-dom"
    run = subprocess.run([CHROMIUM, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return run.stdout


if __name__ == "__main__":
    docs_picture("textbook").write_text(drawn_for_docs(textbook, (2.0, 5.0)))
    docs_picture("newton").write_text(drawn_for_docs(newton, (2.0,)))
