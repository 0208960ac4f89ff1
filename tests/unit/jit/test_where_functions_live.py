"""Functions of files, archives, cells, command lines, prompts and other processes: compiled, or truly refused."""

from __future__ import annotations

import builtins
import functools
import importlib
import linecache
import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.frontend.program.source import source_of
from mlirad.frontend.program.texts import receive
from mlirad.jit.sent_source import texts_for

X = np.array([1.0, 2.0, 3.0])
ROOT = Path(__file__).resolve().parents[3]


def agree(function: Any, *args: Any) -> None:
    np.testing.assert_allclose(mlirad.jit(function)(*args), function(*args))


def run_cell(text: str, name: str, space: dict[str, Any] | None = None) -> dict[str, Any]:
    """As a notebook does: the text of a cell is remembered under the name that it is compiled with."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np} if space is None else space
    exec(compile(text, name, "exec", dont_inherit=True), space)
    return space


# In one line.

one, two, three = lambda x: x + 1.0, lambda x: x * 2.0, lambda y: y - 3.0
nested = lambda x: (lambda y: (lambda z: z * y + x)(x + 1.0))(x * 2.0)
TABLE = {"a": lambda x: x + 1.0, "b": lambda x: x - 1.0, "c": lambda x: x + 1.0, "d": lambda x, k=2.0: x * k}


def made(k: float) -> list[Callable[..., Any]]:
    return [lambda x: x * k, lambda x: k * x, lambda x: (lambda y: y - k)(x), lambda x: (lambda y: k - y)(x)]


@pytest.mark.parametrize(
    "function", [one, two, three, nested, *TABLE.values(), *made(3.0), functools.partial(TABLE["d"], k=7.0)]
)
def test_lambdas_of_one_line(function: Any) -> None:
    agree(function, X)


def test_lambdas_of_one_line_without_columns() -> None:
    """Python can be run without columns: then the code shows which lambda it is."""
    program = """
        from mlirad.frontend.program.source import source_of
        import ast
        def made(k):
            return [lambda x: x * k, lambda x: k * x, lambda x: (lambda x: x - k)(x), lambda x: (lambda x: k - x)(x)]
        for each in made(3.0):
            print(ast.unparse(source_of(each).node))
    """
    found = run_program(program, "-X", "no_debug_ranges").stdout.splitlines()
    assert found == [
        "lambda x: x * k",
        "lambda x: k * x",
        "lambda x: (lambda x: x - k)(x)",
        "lambda x: (lambda x: k - x)(x)",
    ]


def decorator(factor: float) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(*args) * factor

        return wrapper

    return decorate


@decorator(2.0)
@decorator(
    5.0,
)
def decorated(x):
    return x + 1.0


def test_decorated_functions() -> None:
    agree(decorated, X)
    agree(decorated.__wrapped__, X)
    np.testing.assert_allclose(mlirad.grad(lambda x: np.sum(decorated(x)))(X), 10.0)


# Archives, cells, magics.


def test_functions_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("archived_module.py", "import numpy as np\n\ndef f(x):\n    return np.sin(x) * 2.0\n")
    monkeypatch.syspath_prepend(tmp_path / "archive.zip")
    module = importlib.import_module("archived_module")
    try:
        agree(module.f, X)
    finally:
        sys.modules.pop("archived_module", None)


def test_a_cell_that_is_run_again() -> None:
    for number in range(3):
        space = run_cell(f"def f(x):\n    return x * {number}.0\n", f"<cell of many runs {number}>")
        agree(space["f"], X)
    first = run_cell("def f(x):\n    return x + 1.0\n", "<a name that is used again>")
    second = run_cell("def f(x):\n    return x + 2.0\n", "<a name that is used again>")
    agree(second["f"], X)
    with pytest.raises(mlirad.CompileError, match="is not what its source says"):
        mlirad.jit(first["f"])(X)


def test_cells_are_compiled_statement_by_statement() -> None:
    """IPython compiles each statement of a cell by itself; here as one interactive statement."""
    name, text = (
        "<cell of statements>",
        "import math\ndef f(x):\n    '''Text.'''\n    return x * 2.0\ng = lambda x: x - 1.0\n",
    )
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    import ast

    space: dict[str, Any] = {}
    for statement in ast.parse(text, name).body:
        exec(compile(ast.Interactive([statement]), name, "single", dont_inherit=True), space)
    agree(space["f"], X)
    agree(space["g"], X)


IN_A_FUNCTION = "def inner():\n{indented}    return f\nf = inner()"
CALLED = "get_ipython().run_{}_magic({}, {})\n"
# The cell as it is remembered, the name of the code that the magic compiles, and its text.
MAGICS = {
    "time": (CALLED.format("cell", "'time', ''", "{body!r}"), "<timed exec>", "{body}"),
    "time of a line": ("x = 1\n" + CALLED.format("line", "'time'", "{body!r}"), "<timed exec>", "{body}"),
    "options": (CALLED.format("line", "'prun'", "{options!r}"), "<string>", "{body}"),
    "timeit": (CALLED.format("cell", "'timeit', ''", "{body!r}"), "<magic-timeit>", IN_A_FUNCTION),
}


@pytest.mark.parametrize("magic", MAGICS)
def test_magics_that_run_text_of_a_cell(magic: str) -> None:
    cell, name, program = MAGICS[magic]
    body = "def f(x):\n    return np.cos(x) + 0.25\n" if magic != "options" else "f = lambda x: np.cos(x) - 0.75"
    options = f"-s cumulative -q {body}"
    run_cell(f"def get_ipython():\n    pass\n\nTEXT = '''{magic}'''\n", f"<cell before {magic}>")
    text = cell.format(body=body, options=options)
    linecache.cache[f"<cell with {magic}>"] = (len(text), None, text.splitlines(True), f"<cell with {magic}>")
    space: dict[str, Any] = {"np": np}
    exec(compile(program.format(body=body, indented=textwrap.indent(body, "    ")), name, "exec"), space)
    assert isinstance(space["f"], FunctionType) and not linecache.getlines(name)
    agree(space["f"], X)


def test_a_string_that_is_executed_is_refused() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x + 0.125\n", space)
    with pytest.raises(
        mlirad.CompileError, match=r"made by exec or eval of a string(.|\n)*linecache\.cache\[name\] = "
    ):
        mlirad.jit(space["f"])(X)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    place = tmp_path / "gone.py"
    space: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x + 0.5\n", str(place), "exec"), space)
    with pytest.raises(mlirad.CompileError, match=r"there is no file .*gone\.py here(.|\n)*@mlirad\.jit"):
        mlirad.jit(space["f"])(X)


# Command lines and prompts.


def run_program(program: str, *options: str, **named: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLIRAD_CACHE": "0"}
    command = [sys.executable, *options]
    if "input" not in named and "stdin" not in named:
        command += ["-c", textwrap.dedent(program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False, **named)


PROGRAM = """
import ast
from mlirad.errors import CompileError
from mlirad.frontend.program.source import source_of
from mlirad.frontend.program.texts import receive

def f(x):
    return x * 2.0

try:
    print(ast.unparse(source_of(f).node.body[0]))
    print(source_of(f).location(source_of(f).node.body[0]).source_line())
except CompileError as error:
    print(error)

"""


def test_a_program_of_the_command_line() -> None:
    for options in (("-W", "ignore", "-O"),):
        assert run_program(PROGRAM, *options).stdout == "return x * 2.0\n    return x * 2.0\n"
    joined = subprocess.run(
        [sys.executable, "-Bc" + PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert joined.stdout == "return x * 2.0\n    return x * 2.0\n"


def test_a_program_of_standard_input(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for options in (("-",),):
        with open(tmp_path / "program.py") as file:
            assert run_program("", *options, stdin=file).stdout == "return x * 2.0\n    return x * 2.0\n"


def test_a_program_of_a_pipe_is_refused() -> None:
    found = run_program("", "-", input=PROGRAM).stdout
    assert "f cannot be found: Python has read it from a pipe" in found and "save the program in a file" in found


def test_a_prompt() -> None:
    found = run_program("", "-i", input=PROGRAM.replace("\n\ntry", "\ntry").replace("try:", "\ntry:")).stdout
    if sys.version_info < (3, 13):
        assert "f cannot be found: this prompt keeps no source" in found and "use IPython" in found
    else:
        assert found.splitlines()[0] == "return x * 2.0"


# Other processes.

CELLS = {
    "helpers": """
import numpy as np
import builtins
import functools
def helper(x):
    return np.sin(x)
def deep(x):
    return x * 3.0
""",
    "more": """
class Model:
    def __init__(self, w):
        self.w = w
    def loss(self, x):
        return np.sum(deep(x) * self.w)
""",
    "kernels": """
import mlirad
table = {"deep": [deep]}
@mlirad.jit
def kernel(x, f=helper):
    return np.sum(f(x) * table["deep"][0](x))
plain = lambda x: np.sum(helper(x))
model = Model(2.0)
curried = functools.partial(lambda k, x: np.sum(k * deep(x)), 4.0)
kernels = [kernel, mlirad.grad(plain), mlirad.jit(lambda x: model.loss(x) + np.sum(curried(x)))]
""",
}

SENDER = f"""
import linecache, sys
import cloudpickle
for name, text in {CELLS!r}.items():
    name = f"<ipython-input-{{name}}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), globals())
sys.stdout.buffer.write(cloudpickle.dumps(kernels))
"""
RECEIVER = """
import pickle, sys
import numpy as np
import mlirad
kernels = pickle.load(sys.stdin.buffer)
x = np.arange(3.0)
for kernel in kernels:
    print(kernel(x).tolist())
"""


def test_functions_of_a_notebook_in_another_process() -> None:
    pytest.importorskip("cloudpickle")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLIRAD_CACHE": "0"}
    sent = subprocess.run([sys.executable, "-c", SENDER], env=environment, capture_output=True, check=True).stdout
    found = subprocess.run(
        [sys.executable, "-c", RECEIVER], env=environment, input=sent, capture_output=True, check=True
    ).stdout.decode()
    space: dict[str, Any] = {}
    for name, text in CELLS.items():
        run_cell(text, f"<cell of {name}>", space)
    x = np.arange(3.0)
    expected: list[Any] = [each(x) for each in space["kernels"]]
    for row, wanted in zip(found.splitlines(), expected, strict=True):
        np.testing.assert_allclose(eval(row), wanted)


BROKEN = "def broken_when_sent(x):\n    return [each for each in x].pop\n"


def without_file(text: str, file: str, **more: str) -> FunctionType:
    """A function as cloudpickle sends it since 3.1.3: its code does not say where it stands."""
    (code,) = (each for each in compile(text, file, "exec").co_consts if isinstance(each, CodeType))
    return FunctionType(code.replace(co_filename="<dynamic-code>"), {"__builtins__": builtins, **more})


def test_a_function_that_was_sent_without_its_file_is_found_in_the_file_of_its_module(tmp_path: Path) -> None:
    file = str(tmp_path / "program.py")
    Path(file).write_text(BROKEN)
    found = source_of(without_file(BROKEN, file, __file__=file))
    assert (found.filename, found.node.name) == (file, "broken_when_sent")
    with pytest.raises(mlirad.UnsupportedSyntaxError) as failure:
        mlirad.jit(found.function)(np.ones(3))
    assert str(failure.value.location).startswith(f"{file}:2:")
    with pytest.raises(mlirad.UnsupportedSyntaxError, match="f cannot be found: it was written in another process"):
        source_of(without_file("def f(x):\n    return x * 41.5\n", file, __file__=file))


def test_a_function_that_was_sent_without_its_file_is_found_among_the_texts_that_were_sent() -> None:
    for name in ("<one cell>", "<another cell>"):
        text = f"#\ndef broken_in_a_cell(x):\n    return '{name}' + [each for each in x]\n"
        function = without_file(text, name)
        with pytest.raises(mlirad.UnsupportedSyntaxError, match="it was written in another process"):
            source_of(function)
        receive({name: [text]})
        assert source_of(function).filename == name
        with pytest.raises(mlirad.CompileError) as failure:
            mlirad.jit(function)(np.ones(3))
        assert str(failure.value.location).startswith(f"{name}:3:") and "each for each" in str(failure.value)


def test_only_functions_that_stand_in_no_file_are_sent_with_their_text() -> None:
    assert texts_for(agree) == {}
    space = run_cell(
        "h = lambda x: x\ndef f(x):\n    return h(x) + g(x)\ndef g(x):\n    return f(x)\n", "<a sent cell>"
    )
    assert list(texts_for(space["f"])) == ["<a sent cell>"]
    assert source_of(space["f"]).node.name == "f"
    assert texts_for(mlirad.grad(space["f"]))["<a sent cell>"][0].startswith("h = lambda")


# Whatever is installed.

MODULES = ["statistics", "heapq", "textwrap", "numpy.lib._function_base_impl", "mlirad.frontend.program.source"]
MORE_MODULES = [
    "argparse",
    "_pydecimal",
    "inspect",
    "typing",
    "unittest.mock",
    "zipfile",
    "xdsl.ir.core",
    "xdsl.parser.core",
]


@pytest.mark.parametrize("name", [*MODULES, *(pytest.param(each, marks=pytest.mark.full) for each in MORE_MODULES)])
def test_every_function_of_a_module_is_found_where_it_is(name: str) -> None:
    """Compiled by Python at some time, read from .pyc files, and equal to what the text compiles to here."""
    module = importlib.import_module(name)
    found = [each for each in functions_in(vars(module).values()) if each.__code__.co_filename == module.__file__]
    assert len(found) > 5
    for function in found:
        node = source_of(function).node
        lines = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]
        assert min(lines) == function.__code__.co_firstlineno
        assert getattr(node, "name", "<lambda>").endswith(function.__code__.co_name)


def functions_in(values: Any) -> list[FunctionType]:
    found: list[FunctionType] = []
    for value in values:
        value = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(value, FunctionType) and not value.__code__.co_flags & 0x2A0:
            found.append(value)
        elif isinstance(value, type):
            found += [each for each in functions_in(vars(value).values()) if isinstance(each, FunctionType)]
    return found
