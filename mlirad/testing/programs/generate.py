"""Random programs: plain NumPy functions with loops, branches, views and updates in place, from a seed.

Reads: a seed and a bias. Writes: nothing. Leaves: source text, and arguments to call it with.

`mixed` covers everything; `alias` has many views, swaps, helpers that write, and references that depend on branches;
`dtypes` has narrow integers, float32 and Python numbers that meet them; `around` has captured arrays, composed
closures, lists that grow, and helpers with replaced code; `selections` has selections by masks; `complex` has complex
numbers; `draws` has random numbers of a generator; `versions` has loops that read arrays as they were before a write;
`grids` has stencils, sweeps and products of arrays that are large enough for vectors, strips and tiles; `beside` has
products of long rows, convolutions as loops, reversed copies, heaps, lists written at run-time places, and `try`.
Each program uses only a few kinds of statements, and must contain some: programs that use everything use little of
anything. The same seed gives the same program on every machine.
"""

from __future__ import annotations

from random import Random

from mlirad.testing.programs import random_functions
from mlirad.testing.programs.function_writer import Helper, Writer
from mlirad.testing.programs.kinds import Array, Complex, Float, Generator, Int, Kind, Scalar
from mlirad.testing.programs.program import REPLACEMENT, Program, loss_of, outs_of
from mlirad.testing.programs.random_functions import APPLY
from mlirad.testing.programs.statements.beside_statements import beside_parameters
from mlirad.testing.programs.statements.grid_statements import SIZES, grid_parameters
from mlirad.testing.programs.statements.surrounding_statements import PRELUDE

BIASES = ("mixed", "alias", "dtypes", "around", "selections", "complex", "draws", "versions", "grids", "beside")

_PARAMETERS: dict[str, Kind] = {
    "x": Array((5,)),
    "y": Array((5,)),
    "z": Array((3,)),
    "m": Array((3, 4)),
    "w": Array((4,)),
    "e": Array((1,)),
    "h": Array((2, 2, 3)),
    "q": Array((5,), "int64"),
    "g": Array((5,), "float32"),
    "a": Float(),
    "b": Float(),
    "n": Int(0, 3),
    "k": Int(-2, 2),
}
_NARROW: dict[str, Kind] = {
    "b": Array((5,), "uint8"),
    "i": Array((5,), "int8"),
    "o": Array((3,), "uint64"),
    "g": Array((5,), "float32"),
    "c": Scalar("uint8"),
    "d": Scalar("float32"),
    "p": Scalar("int64"),
}
"""Additional parameters of programs of the bias `dtypes`."""
_COMPLEX: dict[str, Kind] = {
    "cx": Array((5,), "complex128"),
    "cz": Array((3,), "complex128"),
    "cm": Array((3, 4), "complex128"),
    "cg": Array((3,), "complex64"),
    "ca": Complex(),
}
_MORE: dict[str, dict[str, Kind]] = {"dtypes": _NARROW, "complex": _COMPLEX, "draws": {"rng": Generator()}}
_WEIGHTS: dict[str, dict[str, int]] = {
    "mixed": {
        "number": 6, "rebind": 4, "element": 6, "update": 6, "slice": 5, "view": 3, "local": 3, "branch": 5, "count": 6,
        "until": 4, "flag": 3, "swap": 2, "helper": 3, "tuple": 2, "list": 2, "dict": 2, "record": 2, "rows": 2,
        "other": 3, "integer": 3, "leave": 4, "skip": 3, "closure": 2, "callback": 2, "zipped": 2, "enumerated": 2,
        "over": 2, "early": 3, "maybe": 2, "shift": 2, "window": 3, "back": 1, "rotate": 1, "turn": 1, "choice": 2,
        "recursive": 2, "widened": 2, "mask": 3, "fancy": 3, "accumulate": 1,
    },
    "alias": {
        "number": 2, "rebind": 4, "element": 4, "update": 6, "slice": 7, "view": 9, "local": 1, "branch": 5, "count": 5,
        "until": 2, "flag": 2, "swap": 6, "helper": 6, "tuple": 3, "list": 5, "dict": 4, "record": 4, "rows": 4,
        "other": 1, "integer": 2, "leave": 2, "skip": 1, "closure": 4, "callback": 3, "zipped": 3, "enumerated": 1,
        "over": 2, "early": 1, "maybe": 2, "shift": 4, "window": 2, "back": 4, "rotate": 5, "turn": 3, "choice": 7,
        "recursive": 1, "widened": 1, "mask": 2, "fancy": 3, "accumulate": 1,
    },
    "dtypes": {
        "number": 3, "rebind": 2, "element": 3, "update": 2, "branch": 3, "count": 4, "until": 1, "early": 2,
        "maybe": 1, "helper": 1, "tuple": 1, "list": 1, "dict": 1, "record": 1, "other": 2, "integer": 3,
        "widened": 2, "over": 1, "narrow": 7, "loose": 8, "store": 9, "join": 9, "compared": 4, "scaled": 4,
    },
    "around": {
        "number": 4, "rebind": 3, "element": 3, "update": 3, "view": 2, "branch": 4, "count": 5, "until": 2, "flag": 1,
        "swap": 1, "helper": 5, "dict": 1, "record": 1, "closure": 2, "callback": 2, "early": 2, "recursive": 1,
        "captured": 7, "composed": 9, "appended": 8, "hidden": 1,
    },
    "selections": {
        "number": 3, "rebind": 2, "element": 3, "update": 3, "slice": 2, "view": 2, "branch": 4, "count": 5, "until": 2,
        "flag": 1, "swap": 1, "helper": 3, "closure": 1, "callback": 1, "early": 1, "mask": 5, "fancy": 3,
        "accumulate": 1, "selected": 10, "joined": 6,
    },
    "complex": {
        "number": 3, "element": 2, "update": 2, "slice": 1, "view": 2, "branch": 4, "count": 5, "until": 2, "swap": 1,
        "helper": 1, "tuple": 1, "list": 1, "closure": 1, "early": 1, "fancy": 1, "recursive": 1, "complex number": 7,
        "complex array": 7, "complex view": 4, "complex element": 7, "complex update": 6, "part": 6, "modulus": 6,
        "complex sum": 4,
    },
    "draws": {
        "number": 3, "rebind": 2, "element": 3, "update": 3, "slice": 2, "view": 2, "branch": 4, "count": 6, "until": 2,
        "flag": 1, "helper": 4, "recursive": 3, "closure": 2, "callback": 1, "early": 1, "leave": 2, "skip": 2,
        "mask": 2, "fancy": 2, "dict": 1, "list": 1, "drawn": 9, "drawn array": 6, "die": 4, "noise": 6, "order": 4,
        "tossed": 4, "repeated": 4,
    },
    "versions": {
        "number": 3, "rebind": 2, "element": 3, "update": 3, "slice": 3, "view": 3, "branch": 4, "count": 5, "until": 2,
        "swap": 2, "rotate": 1, "helper": 2, "closure": 1, "shift": 2, "window": 1, "back": 1, "leave": 2, "skip": 2,
        "early": 1, "over": 1, "kept": 9, "stepped": 9, "undone": 6,
    },
    "grids": {
        "number": 2, "branch": 1, "count": 2, "until": 1, "helper": 1, "early": 1, "swap": 1, "update": 1, "slice": 1,
        "stencil": 8, "wall": 4, "march": 9, "step": 3, "sweep": 8, "product": 7, "spread": 4, "row by row": 6,
        "point by point": 5,
    },
    "beside": {
        "number": 2, "update": 2, "slice": 2, "element": 2, "view": 2, "branch": 2, "count": 3, "until": 1, "helper": 1,
        "early": 1, "swap": 1, "tall": 9, "convolved": 8, "mirrored": 7, "heaped": 5, "placed": 5, "tried": 6,
    },
}  # fmt: skip
_NEEDED_BY = {
    "m": frozenset({"rows", "back"}),
    "q": frozenset({"other", "fancy", "accumulate"}),
    "g": frozenset({"other"}),
    "n": frozenset({"window", "tried"}),
}
_REFUSED = frozenset({"hidden"})
"""Statements that are rightly refused: few programs have them."""
_PLANNED = 4
"""How many kinds of statements each program must contain."""


def generate(seed: int, bias: str) -> Program:
    rng = Random(f"{bias}:{seed}")
    kinds = list(_WEIGHTS[bias])
    planned = rng.sample([kind for kind in kinds if kind not in _REFUSED], _PLANNED)
    weights = {kind: weight for kind, weight in _WEIGHTS[bias].items() if kind in planned or rng.random() < 0.35}
    if rng.random() < 0.8:
        weights = {kind: weight for kind, weight in weights.items() if kind not in _REFUSED}
    parameters = _OWN[bias](rng) if bias in _OWN else _PARAMETERS | _MORE.get(bias, {})
    chosen = {name: kind for name, kind in parameters.items() if rng.random() < _likelihood(name, planned)}
    helpers = _helpers(rng, weights, planned)
    writer = Writer(rng, weights, [helper for helper, _ in helpers], planned)
    text, results = random_functions.main(writer, chosen, rng.randrange(3, 9))
    texts = [*(text for _, text in helpers), text]
    parts = ["import numpy as np\n\nimport mlirad", *_prelude("".join(texts), bias), *texts]
    parts += [loss_of(chosen, results), outs_of(chosen, results)]
    strided = 0.25 if bias == "alias" else 0.08
    traits = {
        trait for trait, share in (("strided arguments", strided), ("aliased arguments", 0.08)) if rng.random() < share
    }
    if not {("y", "x"), ("z", "x"), ("w", "m")} & {(one, other) for one in chosen for other in chosen}:
        traits.discard("aliased arguments")
    if bias == "around" and helpers and (changed := _changed(helpers[0][1])) != helpers[0][1]:
        parts.append(changed)
        traits.add("replaced code")
    if bias == "around" and rng.random() < 0.5:
        traits.add("changed globals")
    return Program(seed, bias, "\n\n\n".join(parts) + "\n", chosen, frozenset(traits))


def _grids(rng: Random) -> dict[str, Kind]:
    numbers = {name: _PARAMETERS[name] for name in ("a", "n")}
    return {**grid_parameters(lambda: rng.choice(SIZES), lambda: rng.choice(SIZES[:10])), **numbers}


def _beside(rng: Random) -> dict[str, Kind]:
    return {**beside_parameters(rng), **{name: _PARAMETERS[name] for name in ("q", "a", "n")}}


_OWN = {"grids": _grids, "beside": _beside}
"""The parameters of programs that have their own."""


def _likelihood(name: str, planned: list[str]) -> float:
    if name == "q" and "placed" in planned:
        return 1.0
    if not _NEEDED_BY.get(name, frozenset()).isdisjoint(planned):
        return 0.8
    return {
        "rng": 1.0,
        "cx": 0.9,
        "x": 1.0,
        "m": 0.5,
        "e": 0.1,
        "h": 0.15,
        "q": 0.2,
        "g": 0.1,
        "w": 0.3,
        "b": 0.3,
        "n": 0.8,
        "A": 1.0,
        "B": 0.8,
        **dict.fromkeys("TDIK", 0.8),
    }.get(name, 0.5)


def _helpers(rng: Random, weights: dict[str, int], planned: list[str]) -> list[tuple[Helper, str]]:
    """The helper functions that the main function's statements need."""
    simple = {kind: weight for kind, weight in weights.items() if kind not in ("helper", "recursive", "callback")}
    found: list[tuple[Helper, str]] = []
    if "helper" in weights:
        count = rng.choice([1, 1, 2])
        found += [random_functions.helper(Writer(rng, simple, [], []), f"h{number}") for number in range(count)]
    if "recursive" in weights and ("recursive" in planned or rng.random() < 0.5):
        found.append(random_functions.recursion(Writer(rng, simple, [], []), "r0"))
    return found


def _changed(text: str) -> str:
    """The function of a text under another name and with other constants."""
    name = text[len("def ") : text.index("(")]
    return text.replace(f"def {name}(", f"def {REPLACEMENT}(", 1).replace("0.5", "0.75").replace("0.25", "-0.25")


def _prelude(text: str, bias: str) -> list[str]:
    found: list[str] = [PRELUDE] if bias == "around" else ["import heapq"] if "heapq." in text else []
    if "Record2(" in text:
        found += ["from dataclasses import dataclass", "@dataclass\nclass Record2:\n    u: object\n    v: object"]
    return [*found, APPLY] if "apply(" in text else found
