"""Statements about complex numbers: arrays of complex128 and complex64, their parts, and the real numbers they meet.

Reads: the scope. Writes: one statement or a few. Leaves: control flow.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Complex, Float, Shape, views

_DOUBLE, _SINGLE = "complex128", "complex64"
_NUMBERS = ("0.5j", "(1 + 0.5j)", "(-0.25 + 1j)", "1j", "(0.5 - 0.5j)", "-1.0")
_THRESHOLDS = ("0.3", "-0.7", "1.1", "-1.9")


def complex_number(writer: Writer, depth: int) -> str:
    rng, expressions = writer.rng, writer.expressions
    if depth <= 0 or rng.random() < 0.25:
        return _plain_number(writer)
    inner = complex_number(writer, depth - 1)
    if rng.random() < expressions.smooth:
        return rng.choice([f"np.exp(1j * ({inner}).real)", f"np.sin(0.5 * {inner})", f"np.sqrt({inner} + 4.0)"])
    array = complex_array(writer, rng.choice(_shapes(writer)), depth - 1)
    found = [
        f"({inner} {rng.choice('+-')} {complex_number(writer, depth - 1)})",
        f"0.25 * {inner} * {_plain_number(writer)}",
        f"({inner} {rng.choice('+-*')} {expressions.number(0)})",
        f"({inner} / (2.0 + 1j))",
        f"np.conj({inner})",
        f"({inner}).conjugate()",
        f"-{inner}",
        f"({inner} * 0.5) ** 2",
        f"np.sum({array}) * 0.25",
        f"np.mean({array})",
        f"({inner} if {expressions.condition(0)} else {_plain_number(writer)})",
        f"complex({expressions.number(1)}, {expressions.number(0)})",
    ]
    vector = complex_array(writer, (3,), 0)
    found += [f"({vector} @ {vector}) * 0.125", f"np.vdot({vector}, {vector}) * 0.125"]
    return rng.choice(found)


def _plain_number(writer: Writer) -> str:
    rng, expressions = writer.rng, writer.expressions
    held = expressions.names(Complex)
    if held and rng.random() < 0.5:
        return rng.choice(held)
    arrays = expressions.arrays(_DOUBLE)
    if arrays and rng.random() < 0.7:
        return expressions.element(*rng.choice(arrays))
    return rng.choice(_NUMBERS)


def _shapes(writer: Writer) -> list[Shape]:
    return [shape for _, shape in writer.expressions.arrays(_DOUBLE)] or [(3,)]


def _view(writer: Writer, shape: Shape) -> str:
    """A complex array in scope of this shape, or a view of one, or a new one."""
    found: list[str] = []
    for name, other in writer.expressions.arrays(_DOUBLE):
        found += [name] * 2 if other == shape else []
        found += views(writer.rng, name, other, shape)
    return writer.rng.choice(found) if found else f"np.full({shape}, {_plain_number(writer)})"


def complex_array(writer: Writer, shape: Shape, depth: int) -> str:
    rng, expressions = writer.rng, writer.expressions
    if depth <= 0 or rng.random() < 0.3:
        return _view(writer, shape)
    inner = complex_array(writer, shape, depth - 1)
    if rng.random() < expressions.smooth:
        return rng.choice([f"np.exp(0.5 * {inner})", f"np.cos({inner})", f"np.fft.fft({inner})"])
    test = f"{_view(writer, shape)}.{rng.choice(['real', 'imag'])} {rng.choice('<>')} {rng.choice(_THRESHOLDS)}"
    found = [
        f"({inner} {rng.choice('+-')} {complex_array(writer, shape, depth - 1)})",
        f"(0.25 * {inner} * {_view(writer, shape)})",
        f"({inner} * {complex_number(writer, depth - 1)})",
        f"({inner} {rng.choice('+-*')} {expressions.array(shape, 0)})",
        f"({expressions.array(shape, 0)} + 1j * {expressions.array(shape, 0)})",
        f"np.conj({inner})",
        f"{inner}.conj()",
        f"({inner} / (1.5 - 2j))",
        f"np.where({test}, {inner}, {_view(writer, shape)})",
        f"-{_view(writer, shape)}",
        f"np.cumsum({inner}, axis=0)",
        f"({inner}.real * {expressions.array(shape, 0)} - 1j * {inner}.imag)",
    ]
    single = expressions.names(Array, shape, _SINGLE)
    found += [f"({rng.choice(single)} * {inner})"] * 2 if single else []
    return rng.choice(found)


def real_number(writer: Writer) -> str:
    """A float that is made of complex numbers."""
    rng, number = writer.rng, complex_number(writer, 1)
    array = complex_array(writer, rng.choice(_shapes(writer)), 1)
    found = [
        f"({number}).{rng.choice(['real', 'imag'])}",
        f"abs({number} + 3.0)",
        f"np.angle({number} + 8.0)",
        f"np.sum(np.abs({array} + 5j)) * 0.25",
        f"np.sum({array}.{rng.choice(['real', 'imag'])}) * 0.25",
        f"np.sum({array}.real ** 2 + {array}.imag ** 2) * 0.125",
        f"np.max({array}.real)",
        f"np.vdot({array}, {array}).real * 0.125",
    ]
    return rng.choice(found)


@writes("complex number")
def write_complex_number(writer: Writer) -> None:
    held = [name for name in writer.expressions.names(Complex) if name.isidentifier() and name not in writer.frozen]
    if held and writer.rng.random() < 0.5:
        writer.line(f"{writer.rng.choice(held)} {writer.rng.choice(['+=', '-=', '*='])} {complex_number(writer, 1)}")
    else:
        writer.bind(Complex(), "c", f"1.0 * {complex_number(writer, 2)} + 0j")


@writes("complex array")
def write_complex_array(writer: Writer) -> None:
    shape = writer.rng.choice([*_shapes(writer), (3,), (2,), (3, 4)])
    writer.bind(Array(shape, _DOUBLE), "t", f"({complex_array(writer, shape, 2)}) * (1 + 0j)")


@writes("complex view")
def write_complex_view(writer: Writer) -> None:
    shape = writer.rng.choice([*_shapes(writer), (2,), (3,)])
    writer.bind(Array(shape, _DOUBLE), "v", _view(writer, shape))


@writes("complex element")
def write_complex_element(writer: Writer) -> None:
    rng, expressions = writer.rng, writer.expressions
    arrays = expressions.arrays(rng.choice([_DOUBLE, _DOUBLE, _SINGLE])) or expressions.arrays(_DOUBLE)
    if not arrays:
        return write_complex_array(writer)
    name, shape = rng.choice(arrays)
    where, sign = expressions.element(name, shape), rng.choice(["=", "=", "+=", "-=", "*="])
    return writer.line(f"{where} {sign} {complex_number(writer, 2 if sign == '=' else 1)}")


@writes("complex update")
def write_complex_update(writer: Writer) -> None:
    """A whole array, a part of one, or what a mask selects, in place."""
    rng, expressions = writer.rng, writer.expressions
    arrays = [(name, shape) for name, shape in expressions.arrays(_DOUBLE) if name.isidentifier()]
    if not arrays:
        return write_complex_array(writer)
    name, shape = rng.choice(arrays)
    sign = rng.choice(["+=", "-=", "*="])
    value = rng.choice([complex_number(writer, 1), complex_array(writer, shape, 1), expressions.number(1)])
    match rng.randrange(4):
        case 0 if name not in writer.frozen:
            writer.line(f"{name} {sign} {value}")
        case 1:
            writer.line(
                f"{name}[{name}.real {rng.choice('<>')} {rng.choice(_THRESHOLDS)}] {sign} {_plain_number(writer)}"
            )
        case 2:
            writer.line(f"{name}[{rng.choice(['::-1', ':', '...'])}] {rng.choice(['=', sign])} {value}")
        case _:
            writer.line(f"{name}[1:] {sign} {name}[:-1] * 0.5")
    return None


@writes("part")
def write_part(writer: Writer) -> None:
    """A write to the real or the imaginary parts, or real views of them."""
    rng, expressions = writer.rng, writer.expressions
    arrays = expressions.arrays(_DOUBLE)
    if not arrays:
        return write_complex_array(writer)
    name, shape = rng.choice(arrays)
    part = f"{name}.{rng.choice(['real', 'imag'])}"
    match rng.randrange(4):
        case 0:
            held = writer.fresh("v")
            writer.define(held, Array(shape), part)
        case 1:
            writer.line(f"{part}[...] {rng.choice(['=', '+=', '*='])} {expressions.array(shape, 1)}")
        case 2:
            writer.line(f"{expressions.element(part, shape)} {rng.choice(['=', '+='])} {expressions.number(1)}")
        case _:
            writer.line(f"{part} = {expressions.number(1)}")
    return None


@writes("modulus")
def write_modulus(writer: Writer) -> None:
    """A real number, or real array, of complex ones."""
    rng, shape = writer.rng, writer.rng.choice(_shapes(writer))
    if rng.random() < 0.6:
        writer.bind(Float(), "s", f"1.0 * {real_number(writer)}")
        return
    array = complex_array(writer, shape, 1)
    made = [f"{array}.real * 0.5", f"np.abs({array} + 6.0)", f"np.angle({array} + 9j)", f"({array}.imag + 1.0)"]
    writer.bind(Array(shape), "t", rng.choice(made))


@writes("complex sum")
def write_complex_sum(writer: Writer) -> None:
    """A loop over the elements of a complex array."""
    rng, arrays = writer.rng, [each for each in writer.expressions.arrays(_DOUBLE) if len(each[1]) == 1]
    if not arrays:
        return write_complex_number(writer)
    name, total, item = rng.choice(arrays)[0], writer.fresh("c"), writer.fresh("c")
    writer.line(f"{total} = {rng.choice(['0j', '0.5 + 0.25j', '0.0'])}")
    writer.line(f"for {item} in {name}:")
    grown = [f"{total} + 0.5 * {item}", f"0.5 * {total} * {item} + 0.25j", f"{total} + {item}.conjugate() * {item}"]
    writer.line(f"    {total} = {rng.choice(grown)}")
    writer.define(total, Complex(), f"{total} + 0j")
    return None
