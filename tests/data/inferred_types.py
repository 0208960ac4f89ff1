"""What a type checker infers of the public functions; tests/unit/project/test_inferred_types.py compares the comments.

`# TYPE` is what pyright reveals, `# error: RULE` a mistake that it has to find. Nothing here is run.
"""

from functools import partial
from typing import Any, reveal_type

import numpy as np

import mlirad


def f(x: np.ndarray, n: int) -> float:
    return float(np.sum(x)) * n


def with_aux(x: np.ndarray, *, scale: float = 1.0) -> tuple[float, dict[str, int]]:
    return float(np.sum(x)) * scale, {"count": 1}


def untyped(x, n=2):
    return x**n


x = np.ones(3)
anything: Any = f

reveal_type(mlirad.grad(f))  # Kernel[(x: ndarray, n: int), Any]
reveal_type(mlirad.grad(f)(x, n=2))  # Any
mlirad.grad(f)(x, "two")  # error: reportArgumentType
mlirad.grad(f)(x)  # error: reportCallIssue
mlirad.grad(f, argnums="x")  # error: reportArgumentType
reveal_type(mlirad.grad(mlirad.jit(f), argnums=(0,), parallel=True))  # Kernel[(x: ndarray, n: int), Any]
reveal_type(mlirad.grad(with_aux, has_aux=True)(x))  # tuple[Any, dict[str, int]]
reveal_type(mlirad.grad(untyped)(2.0))  # Any
mlirad.grad(untyped)(2.0, 3, 4)  # error: reportCallIssue
mlirad.grad(3)  # error: reportArgumentType

reveal_type(mlirad.value_and_grad(f))  # Kernel[(x: ndarray, n: int), tuple[float, Any]]
reveal_type(mlirad.value_and_grad(f, 0)(x, 2)[0])  # float
reveal_type(mlirad.value_and_grad(with_aux, has_aux=True)(x))  # tuple[tuple[float, dict[str, int]], Any]

reveal_type(mlirad.jit(f))  # Kernel[(x: ndarray, n: int), float]
reveal_type(mlirad.jit(f, parallel=True)(x, 2))  # float
reveal_type(mlirad.jit(f).numpy)  # (x: ndarray, n: int) -> Any
reveal_type(mlirad.jit(mlirad.grad(f), donate_argnums=0))  # Kernel[(x: ndarray, n: int), Any]
reveal_type(mlirad.jit(anything)(x, 2))  # Any
reveal_type(mlirad.jit()(f))  # Kernel[(x: ndarray, n: int), float]


@mlirad.jit
def bare(a: float, b: float = 1.0) -> float:
    return a * b


@mlirad.jit(static_argnames="n", boundscheck=False)
def with_options(x: np.ndarray, n: int) -> np.ndarray:
    return x[:n]


class Model:
    @mlirad.jit
    def loss(self, x: np.ndarray) -> float:
        return float(np.sum(x))


reveal_type(bare)  # Kernel[(a: float, b: float = 1), float]
reveal_type(with_options)  # Kernel[(x: ndarray, n: int), ndarray]
reveal_type(with_options(x, 2))  # ndarray
with_options(x, 2, k=2)  # error: reportCallIssue
reveal_type(Model().loss(x))  # float
Model().loss(x, x)  # error: reportCallIssue

reveal_type(mlirad.vmap(bare)(x, x))  # Any
reveal_type(mlirad.checkpoint(f))  # Kernel[(x: ndarray, n: int), float]
reveal_type(mlirad.accumulate_grad(f, 4))  # Kernel[(x: ndarray, n: int), float]
reveal_type(mlirad.jacfwd(f))  # Kernel[(x: ndarray, n: int), Any]
reveal_type(mlirad.jacrev(with_aux, has_aux=True)(x))  # tuple[Any, dict[str, int]]
reveal_type(mlirad.hessian(f, argnums=(0,)))  # Kernel[(x: ndarray, n: int), Any]
reveal_type(mlirad.hessian(f, sparsity="find"))  # SparseDerivative
reveal_type(mlirad.jacobian(f))  # SparseDerivative
reveal_type(mlirad.hvp(f, (x, 2), (x, None)))  # tuple[Any, ...]

reveal_type(mlirad.jvp(f, (x, 2), (x, None)))  # tuple[float, float]
reveal_type(mlirad.jvp(with_aux, (x,), (x,), has_aux=True))  # tuple[float, float, dict[str, int]]
reveal_type(mlirad.jet(bare, (1.0,), [[1.0, 0.0]]))  # tuple[float, list[float]]
reveal_type(mlirad.vjp(f, x, 2))  # tuple[float, (Any) -> tuple[Any, ...]]
reveal_type(mlirad.vjp(with_aux, x, has_aux=True)[2])  # dict[str, int]
mlirad.vjp(f, x)  # error: reportCallIssue
reveal_type(mlirad.linearize(f, x, n=2)[1](x))  # float

reveal_type(mlirad.root(lambda y, a: y * y - a, 1, 2.0))  # float
reveal_type(mlirad.fixed_point(lambda y: np.cos(y), x))  # ndarray
reveal_type(mlirad.minimize(lambda y: y @ y, x, method="bfgs"))  # ndarray
reveal_type(mlirad.stop_gradient((x, 2)))  # tuple[ndarray, Literal[2]]
for i in mlirad.checkpointed(range(3), "sqrt"):
    reveal_type(i)  # int


@mlirad.custom_vjp
def own(a: float, n: int) -> float:
    return a * n


own.defvjp(lambda a, n: (a * n, n), lambda n, g: (g * n, None))
reveal_type(own)  # CustomVjp[(a: float, n: int), float]
reveal_type(own(1.0, 2))  # float
reveal_type(mlirad.grad(own))  # Kernel[(a: float, n: int), Any]


@partial(mlirad.custom_jvp, nondiff_argnums=(1,))
def other(a: float, n: int) -> float:
    return a * n


@other.defjvp
def other_jvp(n: int, primals: tuple[float], tangents: tuple[float]) -> tuple[float, Any]:
    return primals[0] * n, tangents[0] * n


reveal_type(other_jvp)  # (n: int, primals: tuple[float], tangents: tuple[float]) -> tuple[float, Any]
with mlirad.debug_nans(), mlirad.disable_jit():
    reveal_type(mlirad.get_num_threads())  # int
