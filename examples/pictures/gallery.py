"""Writes docs/gallery.md: what the examples that draw a picture say of themselves, what they print, and the picture.

python examples/pictures/gallery.py                      # runs them all
python examples/pictures/gallery.py lstm_memory          # runs one again
python examples/pictures/gallery.py --page               # runs none
"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "gallery"
HEAD = """# Gallery

Programs of `examples/`, with their output and pictures. `python examples/pictures/gallery.py` writes this page. Each
program checks its own result, and ends with an error if it is wrong. Times are from a busy machine.
"""


STEPS = {"lenet_spellings": "528"}
"""Arguments of examples that are briefer without."""


def examples():
    """The examples that draw."""
    drawing = re.compile(r"from pictures\.(png|chart) import")
    return [path for path in sorted((ROOT / "examples").glob("*.py")) if drawing.search(path.read_text())]


def picture(folder, path):
    """The file that an example has drawn."""
    return next(each for each in folder.glob(f"{path.stem}.*") if each.suffix in (".png", ".svg"))


def section(path):
    """What an example says in its docstring, its picture and its output; all but the first line below the heading."""
    title, _, rest = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")
    text = rest.split("    python examples/")[0].strip()
    printed = (FOLDER / f"{path.stem}.txt").read_text()
    name = path.stem.replace("_", " ")
    return f"""
## {name}

[{path.name}](../examples/{path.name}): {title}

![{name}](gallery/{picture(FOLDER, path).name})

{text}

```text
{printed}```
"""


def page():
    return HEAD + "".join(map(section, examples()))


def run(path):
    arguments = [STEPS[path.stem]] if path.stem in STEPS else []
    done = subprocess.run([sys.executable, str(path), *arguments], stdout=subprocess.PIPE, cwd=ROOT, check=True)
    lines = [
        line.rpartition("\r")[2] for line in done.stdout.decode().split("\n")
    ]  # a bar has drawn over what is before \r
    kept = [f"{line}\n" for line in lines if line and not line.startswith("picture:")]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{path.stem}.txt").write_text("".join(kept))
    shutil.copy(picture(ROOT / "build" / "examples", path), FOLDER)


def main():
    wanted = sys.argv[1:]
    for path in examples():
        if path.stem in wanted or not wanted:
            run(path)
    (ROOT / "docs" / "gallery.md").write_text(page())


if __name__ == "__main__":
    main()
