"""A sample call of each public function: an expression of the inputs of inputs.py.

Reads: signatures of ufuncs, and the table below. Writes: nothing. Gives: calls that plain Python accepts. If a function
is not in the table, its arguments are the first of some usual ones that it accepts.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from mlirad.testing.calls.inputs import of_class
from mlirad.testing.calls.public_names import SPACE, is_attribute, public_object

_GIVEN = """
np.apply_along_axis(np.cumsum, 0, x) | np.apply_over_axes(np.sum, t, (0, 2)) | np.arange(a, 3.0) | np.array([x, y])
np.array_equal(x, y) | np.array_split(v, 2) | np.asarray([a, b]) | np.average(x, weights=y) | np.bartlett(n + 3)
np.bincount(j[0]) | np.blackman(n + 3) | np.block([[x, y], [y, x]]) | np.broadcast_arrays(x, y[0])
np.broadcast_to(x, (2, 3, 4)) | np.can_cast(x.dtype, np.float32) | np.choose(j % 2, (x, y)) | np.clip(x, 0.3, 0.6)
np.column_stack((x, y)) | np.compress(m[0], x, 1) | np.concat((x, y)) | np.concatenate((x, y))
np.copyto(q := np.zeros((3, 4)), x), q | np.cross(s, y[:, :3]) | np.delete(v, 1) | np.diag_indices(n + 1)
np.digitize(x, [0.3, 0.6]) | np.dstack((x, y)) | np.einsum('ij,kj->ik', x, y) | np.einsum_path('ij,kj->ik', x, y)
np.extract(m, x) | np.eye(n + 1) | np.fill_diagonal(q := s * 2, 0.5), q | np.fromfunction(lambda i, j: i + j, (3, 3))
np.fromiter((k * 2 for k in v), float) | np.full((2, 3), a) | np.full_like(x, a) | np.geomspace(a, 2.0, 5)
np.hamming(n + 3) | np.hanning(n + 3) | np.histogram(v, 3) | np.histogram2d(v, w, 3) | np.hstack((x, y))
np.histogramdd((v, w), 3) | np.identity(n + 1) | np.indices((2, n)) | np.insert(v, 1, a) | np.interp(x, np.sort(v), w)
np.isin(x, y) | np.issubdtype(x.dtype, np.floating) | np.isdtype(x.dtype, 'real floating') | np.ix_(i, i)
np.kaiser(n + 3, 2.0) | np.lexsort((v, w)) | np.linspace(a, 2.0, 5) | np.logspace(a, 1.0, 5)
np.mask_indices(3, np.triu) | np.meshgrid(v, w) | np.moveaxis(t, 0, -1) | np.ones((2, n)) | np.pad(v, 2)
np.packbits(m) | np.percentile(x, 30) | np.piecewise(x, [x < 0.4, x >= 0.4], [0.5, lambda r: r * r])
np.place(q := x * 2, m, [1, 2]), q | np.polyfit(v, w, 2) | np.polyval(v, x) | np.promote_types(x.dtype, np.int8)
np.put(q := x * 2, i, [1, 2]), q | np.put_along_axis(q := x * 2, j % 3, 1, 0), q | np.putmask(q := x * 2, m, y), q
np.quantile(x, 0.3) | np.ravel_multi_index((i, i), (3, 3)) | np.repeat(x, 2) | np.reshape(x, (4, 3))
np.resize(x, (5, 3)) | np.roll(x, 1) | np.rot90(x) | np.searchsorted(np.sort(v), x) | np.select([m, x < 0.5], [x, y])
np.stack((x, y)) | np.swapaxes(x, 0, 1) | np.take(x, i) | np.take_along_axis(x, j % 3, 0) | np.tensordot(x, y, 2)
np.tile(x, 2) | np.transpose(x) | np.tri(n + 1) | np.tril_indices(n + 1) | np.triu_indices(n + 1) | np.trim_zeros(v)
np.unravel_index(i, (3, 3)) | np.vstack((x, y)) | np.where(m, x, y) | np.zeros((2, n)) | np.unstack(x) | np.vander(v)
np.result_type(x, np.int8) | np.expand_dims(x, 1) | np.squeeze(x[:1]) | np.rollaxis(t, 2) | np.split(v[:4], 2)
np.hsplit(x, 2) | np.vsplit(s, 3) | np.dsplit(t, 2) | np.unpackbits(np.packbits(m)) | np.astype(x, np.float32)
np.require(x) | np.iterable(x) | np.arccosh(x + 1) | np.acosh(x + 1) | np.ldexp(x, j) | np.matmul(s, s)
np.dot(x, v[:4]) | np.vecdot(x, y) | np.matvec(s, v[:3]) | np.vecmat(v[:3], s) | np.outer(v, w) | np.inner(x, y)
np.vdot(x, y) | np.convolve(v, w) | np.correlate(v, w) | np.gradient(v) | np.trapezoid(v) | np.unwrap(v * 9)
np.cov(x) | np.ediff1d(v) | np.partition(v, 2)[2] | v[np.argpartition(v, 2)[2]] | np.diag(v) | np.diagflat(v)
np.diagonal(s) | np.sort(np.unique_values(x))
np.trace(s) | np.logical_and(x > 0.5, m) | np.logical_or(x > 0.5, m) | np.logical_xor(x > 0.5, m) | np.logical_not(m)
np.cumulative_sum(v) | np.cumulative_prod(v) | np.bitwise_and(j, 3) | np.bitwise_or(j, 3) | np.bitwise_xor(j, 3)
np.bitwise_count(j) | np.invert(j) | np.bitwise_not(j) | np.bitwise_invert(j) | np.gcd(j, 4) | np.lcm(j, 4)
np.left_shift(j, 2) | np.right_shift(j, 1) | np.bitwise_left_shift(j, 2) | np.bitwise_right_shift(j, 1)
np.nan_to_num(x) | np.size(x, 1) | np.nonzero(x > 0.5) | np.flatnonzero(x > 0.5) | np.argwhere(x > 0.5)
np.count_nonzero(x > 0.5) | np.all(x > 0.5) | np.any(x > 0.5) | np.isclose(x, y) | np.allclose(x, y)
np.shares_memory(x, y) | np.may_share_memory(x, y) | np.ascontiguousarray(x.T) | np.asfortranarray(x)
np.empty((2, n)).shape | np.empty_like(x).shape | np.copy(x) | np.triu_indices_from(s) | np.tril_indices_from(s)
np.common_type(x) | np.min_scalar_type(3) | np.broadcast_shapes((3, 1), (4,)) | np.polyder(v) | np.polyint(v)
np.poly(v) | np.polyadd(v, w) | np.polysub(v, w) | np.polymul(v, w) | np.polydiv(v, w[:2]) | np.roots(v)
np.real_if_close(x) | np.sinc(x) | np.sort(x) | np.argsort(x) | np.round(x * 9) | np.around(x * 9) | np.fix(x * 9)
np.rint(x * 9) | np.floor(x * 9) | np.ceil(x * 9) | np.trunc(x * 9) | np.modf(x * 9) | np.frexp(x * 9) | np.max(x, 1)
np.min(x, 1) | np.mean(x, 0) | np.sum(x, 0) | np.prod(x, 0) | np.std(x, 0) | np.var(x, 0) | np.isfortran(x)
np.c_[x, y] | np.r_[v, a, w] | np.s_[1:3] | np.index_exp[1:3] | np.mgrid[0:2, 0:3] | np.ogrid[0:2, 0:3]
np.broadcast(x, y[0]).shape | np.finfo(x.dtype).eps | np.iinfo(np.int8).max | [k for k, e in np.ndenumerate(x)]
[k for k in np.ndindex(2, 3)] | [e * 1 for e in np.nditer(x)] | np.poly1d(v)(x) | np.vectorize(lambda e: e + 1)(x)
v[v.argpartition(2)[2]] | x.astype(np.float32) | x.byteswap() | (j % 2).choose((x, y)) | x.clip(0.3, 0.6)
x.compress(m[0], 1) | x.dot(v[:4]) | (q := x * 2).fill(0.5), q | x.item(2) | (q := x * 2).partition(2), q[..., 2]
(q := x * 2).put(i, [1, 2]), q | x.repeat(2) | x.reshape(4, 3) | (q := x * 2).resize((4, 3)), q
np.sort(v).searchsorted(x) | (q := x * 2).sort(), q | x.swapaxes(0, 1) | x.take(i) | s.trace() | s.diagonal()
x.view(np.int64) | x[:1].squeeze() | (x > 0.5).nonzero() | [e for e in x.flat] | x.all() | x.any() | x.mean(0)
x.sum(0) | x.T | x.device | math.acosh(a + 1) | math.comb(n + 3, n) | math.dist((a, b), (b, c)) | math.fma(a, b, c)
special.ellip_harm(1, 2, n, 1, a) | math.fsum([a, b, c]) | math.gcd(6, n) | math.hypot(a, b) | math.isclose(a, b)
math.isqrt(n) | math.lcm(3, n) | math.ldexp(a, n) | math.perm(n + 3, n) | special.ellip_harm_2(1, 2, n, 1, a + 2)
math.prod([a, b, c]) | math.sumprod([a, b], [b, c]) | math.factorial(n) | math.nextafter(a, b) | math.frexp(a)
math.modf(a + 3) | operator.and_(j, 3) | operator.or_(j, 3) | operator.xor(j, 3) | operator.invert(j)
operator.inv(j) | operator.lshift(j, 2) | operator.rshift(j, 1) | operator.getitem(x, 1)
operator.setitem(q := x * 2, 0, 1), q | operator.concat([a], [b]) | operator.contains([a, b], 0.5)
operator.countOf([a, b], 0.5) | operator.indexOf([2, a], 2) | operator.is_(x, y) | operator.is_not(x, y)
operator.matmul(s, s) | operator.not_(a) | operator.truth(a) | operator.is_none(x) | operator.is_not_none(x) | abs(x)
np.linalg.cholesky(s @ s.T + np.eye(3)) | np.linalg.cond(s) | np.linalg.cross(s, y[:3, :3]) | np.linalg.det(s)
np.linalg.diagonal(s) | np.linalg.eigh(s + 2 * s.T)[0] | np.linalg.inv(s) | np.linalg.eig(s - 2 * s.T)[0].real
np.linalg.eigvals(s - 2 * s.T).real | np.fft.fft(x).real | np.fft.fft2(x).real | np.fft.fftn(x).real
np.fft.ifft(x).real | np.fft.ifft2(x).real | np.fft.ifftn(x).real | np.fft.ihfft(x).real | np.fft.rfft(x).real
np.fft.rfft2(x).real | np.fft.rfftn(x).real
np.linalg.eigvalsh(s) | np.linalg.lstsq(x, y[:3, :2]) | np.linalg.matmul(s, s) | np.linalg.matrix_norm(x)
np.linalg.matrix_power(s, 3) | np.linalg.matrix_rank(x) | np.linalg.matrix_transpose(x) | np.linalg.norm(x)
np.linalg.multi_dot([s, s, x]) | np.linalg.outer(v, w) | np.linalg.pinv(x) | abs(np.linalg.qr(s)[1])
np.linalg.slogdet(s) | np.linalg.solve(s, x) | np.linalg.svd(s)[1] | np.linalg.svdvals(x) | np.linalg.tensordot(x, y)
np.linalg.tensorinv(s, 1) | np.linalg.tensorsolve(s, v[:3]) | np.linalg.trace(s) | np.linalg.vecdot(x, y)
np.linalg.vector_norm(x)
all([a > 0.5, b > 0.5]) | any([a > 0.5, b > 0.5]) | bool(a) | divmod(a, 0.3) | [k for k in enumerate(v)]
[k for k in filter(lambda e: e > 0.5, v)] | float(a) | int(a * 9) | len(x) | list(v)
[k for k in map(lambda e: e * 2, v)] | max(a, b) | min(a, b) | pow(a, b) | [k for k in range(n)]
[k for k in reversed(v)] | round(a * 9) | sorted([a, b, c]) | sum(v) | tuple(v) | [k for k in zip(v, w)]
special.logsumexp(x) | special.softmax(x) | special.log_softmax(x) | special.comb(5, 2) | special.perm(5, 2)
special.factorial(n) | special.polygamma(1, x) | special.zeta(x + 1) | special.eval_legendre(2, x)
special.multigammaln(x + 2, 2) | special.diric(x, 3) | special.xlogy(x, y) | special.gammaincinv(x, y)
special.jv(2, x) | special.jn(2, x) | special.iv(2, x) | special.ive(2, x) | special.fdtr(x + 1, y + 2, z)
special.fdtrc(x + 1, y + 2, z) | special.stdtr(x + 2, y) | special.betainc(x + 1, y + 1, z)
special.kn(2, x) | special.yn(2, x) | special.expn(2, x) | special.smirnov(2, x)
"""
_POOL = (
    *("x", "x, y", "v", "v, w", "s", "a", "a, b", "n", "3", "(2, 3)", "x, 1", "v, 2", "n, x", "n, a", "x, i", "(x, y)"),
    *("'ij->ji', x", "[a, b]", "x, y, u", "v, w, 2", "n, n", "n, a, b", "n, n, a", "3, 2", "x.dtype", "np.float64"),
    *("n, a, b, c", "a, b, c", "", "2, 1", "2, 3, 0.5", "2, 3, 0.5, 0.4", "x, y, z, u"),
)
_POOL_OF_METHODS = ("", "1", "x", "1, 0", "np.float32", "i")


@cache
def sample_call(name: str) -> str | None:
    """The call that is measured of a public function; None for one that accepts none of the usual arguments."""
    given = _given()
    if name in given:
        return given[name]
    return next((call for call in _candidates(name) if _is_accepted(call)), None)


def _candidates(name: str) -> Iterator[str]:
    if is_attribute(name):
        yield name
        return
    if name.startswith("x."):
        yield from (f"{name}({arguments})" for arguments in _POOL_OF_METHODS)
        return
    ufunc, method, _ = _parts(name)
    if method:
        short = ufunc.removeprefix("np.")
        takes = "m" if short in _TRUTH.split() else "j" if short in _INTEGERS.split() else "x"
        yield from _of_method(ufunc, method, takes)
    function = public_object(name)
    arguments: tuple[str, ...] = _POOL
    if isinstance(function, np.ufunc):
        arguments = (", ".join("xyzuxyzu"[: function.nin]), *_of_special(function.nin))
    calls = [f"{name}({each})" for each in arguments]
    yield from (call for call in calls if _is_finite(call))
    yield from calls


def _of_special(count: int) -> Iterator[str]:
    """Orders, degrees and sizes come first among the arguments of SciPy's ufuncs."""
    for integers in range(1, count):
        yield ", ".join(["3", "2", "4", "5"][:integers] + ["x", "y", "z"][: count - integers])
        yield ", ".join(["1", "3", "2", "5"][:integers] + ["x", "y", "z"][: count - integers])
    yield ", ".join(["x + 1", "y + 1", "z", "u"][:count])


def _of_method(ufunc: str, method: str, x: str) -> Iterator[str]:
    if method == "at":
        yield f"{ufunc}.at(q := {x} * 2, i, {x}[:2]), q"
        yield f"{ufunc}.at(q := {x}.copy(), i, {x}[:2]), q"
    else:
        yield f"{ufunc}.{method}({ {'outer': f'{x}[0], {x}[1]', 'reduceat': f'{x}, [0, 2]'}.get(method, x) })"


_TRUTH = "logical_and logical_or logical_xor equal not_equal less less_equal greater greater_equal"
_INTEGERS = "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift"


def _parts(name: str) -> tuple[str, str, str]:
    """np.add, reduce of np.add.reduce."""
    head, _, method = name.rpartition(".")
    is_method = head.startswith("np.") and isinstance(public_object(head), np.ufunc)
    return (head, method, "") if is_method else (name, "", "")


@cache
def _given() -> Mapping[str, str]:
    """The calls of the table, by the name of the function: the first public one that stands in a call."""
    return {_name_of(call): call for line in _GIVEN.strip().splitlines() for call in map(str.strip, line.split(" | "))}


def _name_of(call: str) -> str:
    for special, name in _NAMED.items():
        if call.startswith(special):
            return name
    head = call.partition("[" if call.partition("(")[0].endswith(("]", "[v", "[x", "[0")) else "(")[0]
    return head.partition("[")[0]


_NAMED = {
    "[k for k, e in np.ndenumerate": "np.ndenumerate",
    "[k for k in np.ndindex": "np.ndindex",
    "[e * 1 for e in np.nditer": "np.nditer",
    "[e for e in x.flat": "x.flat",
    "v[np.argpartition": "np.argpartition",
    "v[v.argpartition": "x.argpartition",
    "np.sort(np.unique_values": "np.unique_values",
    "(j % 2).choose": "x.choose",
    "(q := x * 2).fill": "x.fill",
    "(q := x * 2).partition": "x.partition",
    "(q := x * 2).put": "x.put",
    "(q := x * 2).resize": "x.resize",
    "(q := x * 2).sort": "x.sort",
    "np.sort(v).searchsorted": "x.searchsorted",
    "s.trace": "x.trace",
    "s.diagonal": "x.diagonal",
    "x[:1].squeeze": "x.squeeze",
    "(x > 0.5).nonzero": "x.nonzero",
    **{f"[k for k in {name}(": name for name in ("enumerate", "filter", "map", "range", "reversed", "zip")},
}


def _is_accepted(call: str) -> bool:
    return not isinstance(_tried(call), Exception)


def _is_finite(call: str) -> bool:
    found = _tried(call)
    try:
        return not isinstance(found, Exception) and bool(np.all(np.isfinite(found)))
    except (TypeError, ValueError):
        return True


@cache
def _tried(call: str) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return eval(call, dict(SPACE), of_class(call, "f64"))
        except Exception as error:  # noqa: BLE001 - whatever the function raises, it does not accept them
            return error


def samples() -> dict[str, str | None]:
    """The sample of each name that is measured."""
    from mlirad.testing.calls.public_names import groups

    return {name: sample_call(name) for name in itertools.chain.from_iterable(groups().values())}
