"""Random programs with bounds of slices, loops and conditions computed from loop counters and two arguments."""

from __future__ import annotations

from random import Random

BOUNDS = (
    *("{a}", "{a} + {k}", "{a} - {k}", "2 * {a}", "-{a}", "{a} // 2"),
    *("min({a}, {k})", "max({a}, {b})", "{a} - {b}", "{k}"),
)
STRIDES = ("", "", "", ":1", ":2", ":3", ":-1", ":-2")


def program(seed: int) -> str:
    """The text of a function f(x, n, m) of an array, which it may write, and of two numbers."""
    lines = ["def f(x, n, m):", "    s = 0.0"]
    _body(Random(seed), ["n", "m"], ["x"], 1, lines)
    return "\n".join([*lines, "    return s"]) + "\n"


def _bound(rng: Random, names: list[str]) -> str:
    return rng.choice(BOUNDS).format(a=rng.choice(names), b=rng.choice(names), k=rng.randrange(-2, 8))


def _slice(rng: Random, names: list[str]) -> str:
    ends = [_bound(rng, names) if rng.random() < 0.7 else "" for _ in range(2)]
    return ":".join(ends) + rng.choice(STRIDES)


def _body(rng: Random, names: list[str], arrays: list[str], depth: int, lines: list[str]) -> None:
    indent = "    " * depth
    for _ in range(rng.randrange(1, 4)):
        array = rng.choice(arrays)
        part = f"{array}[{_slice(rng, names)}]"
        match rng.randrange(6):
            case 0 if depth < 4:
                index = "ijk"[depth - 1]
                step = rng.choice(["", ", 2", ", -1"])
                lines.append(f"{indent}for {index} in range({_bound(rng, names)}, {_bound(rng, names)}{step}):")
                _body(rng, [*names, index], list(arrays), depth + 1, lines)
            case 1 if depth < 4:
                lines.append(f"{indent}if {_bound(rng, names)} < {_bound(rng, names)}:")
                _body(rng, names, list(arrays), depth + 1, lines)
            case 2:
                name = rng.choice("uvw")
                lines.append(f"{indent}{name} = {part}")
                arrays.append(name)
            case 3:
                lines.append(f"{indent}{part} {rng.choice(['=', '+=', '*='])} 0.5")
            case 4:
                lines.append(f"{indent}s += len({part}) + {array}.size")
            case _:
                lines.append(f"{indent}s = s * 0.5 + {part}.sum()")
