"""`mlirad explain`: the source of arguments, the columns, and the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mlirad.cli import main
from mlirad.explaining.explain import explained

FILE = """\
import numpy as np
import mlirad

SIZE = 3

@mlirad.jit
def loss(x, c):
    total = 0.0
    for i in range(x.shape[0]):
        total += c * x[i] ** 2
    return total

def scaled(x, c):
    return x * c

def fails(x):
    raise ValueError("no")

if __name__ == "__main__":
    print(loss(np.ones(SIZE), 2.0))
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(FILE)
    return str(path)


def test_a_function_and_its_gradient_side_by_side(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{file}:loss"]) == 0
    shown = capsys.readouterr().out
    first, *lines = shown.splitlines()
    assert [part.strip() for part in first.split(" | ")] == ["def loss(x, c):", "def grad_loss(x, c):"]
    assert any("return total" in line.split("|")[0] for line in lines)
    assert any("d_x" in line.split("|")[1] for line in lines if "|" in line)


def test_arguments_may_be_given(file: str) -> None:
    found = explained(f"{file}:scaled", ["np.ones(SIZE + 1)", "0.5"])
    assert found.derivative == "vjp(scaled)"
    assert "return x * c" in found.function
    namespace: dict = {}
    exec(found.adjoint, namespace)
    first, second = namespace["adjoint"](3.0, 2.0, 1.0)
    assert (first, second) == (2.0, 3.0)


def test_the_readme_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).resolve().parents[3] / "README.md").read_text()
    program = re.search(r"```python\n(import numpy.*?)\ngradient = ", readme, re.DOTALL)
    block = re.search(r"```text\n(def loss.*?)```", readme, re.DOTALL)
    assert program is not None and block is not None
    (tmp_path / "program.py").write_text(program[1])
    assert main(["explain", f"{tmp_path / 'program.py'}:loss", "np.ones(3)", "1.1"]) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == block[1].splitlines()


def test_the_page_needs_nothing_else(file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", f"{file}:loss", "--html", str(page)]) == 0
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            found.append(data)

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert not {"src", "href"} & {name for name, _ in attrs}, tag

    Reader().feed(page.read_text())
    told = explained(f"{file}:loss")
    text = "".join(found)
    for source in (told.function, told.adjoint):
        assert source.removeprefix("import numpy as np").strip() in text


@pytest.mark.parametrize(("subject", "code"), [("{}:scaled", 2), ("{}:nothing", 2), ("nowhere.py:f", 2)])
def test_what_cannot_be_explained(subject: str, code: int, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", subject.format(file)]) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["dependence", "{}:scaled", "np.ones(2)"], 2, "cannot be called with these arguments: missing"),
        (["trace", "{}:scaled", "1.0", "2.0", "3.0"], 2, "cannot be called with these arguments: too many"),
        (["explain", "{}:fails", "1.0"], 2, r"program.py:\d+: fails raises ValueError: no"),
        (["grads", "{}:fails", "1.0"], 1, r"^ValueError: .*program.py:\d+:5: no"),
        (["explain", "{}.broken.py:f", "1.0"], 2, r"broken.py:2: the file raises ZeroDivisionError: division by zero"),
        (["explain", "{}:scaled", "np.ones(2)", "1.0", "--html", "{}/page.html"], 1, "Not a directory"),
    ],
)
def test_what_users_do_wrong(
    words: list[str], code: int, message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message about the user's own file, without a traceback through mlirad."""
    Path(f"{file}.broken.py").write_text("x = 1\nx / 0\n")
    assert main([word.format(file) for word in words]) == code
    assert re.search(message, out := capsys.readouterr().out), out
    assert "Traceback" not in out
