"""mlirad: plain NumPy in, native gradients out.

@mlirad.jit                      compile a NumPy function, loops, branches and in-place updates included
mlirad.grad(f)(x)                its gradient, also native; and value_and_grad, vjp, jvp, linearize
mlirad.jacfwd(f)(x)              all derivatives; jacrev, hessian, hvp
mlirad.jacobian(f)(x)            its Jacobian as a sparse matrix
mlirad.vmap(f)(xs)               f for each lane of its arguments
f.lower(x).as_text("autodiff")   the IR at any stage
mlirad.set_num_threads(n)        how many threads share the work of @mlirad.jit(parallel=True)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from mlirad import replaced_functions as _replaced  # noqa: F401 - it records which functions NumPy has
from mlirad import tree
from mlirad.errors import (
    CompileError,
    DifferentiationError,
    DTypeError,
    ShapeError,
    TargetError,
    UnsupportedSyntaxError,
)
from mlirad.jit.check_grads import check_grads
from mlirad.jit.debug_modes import debug_nans, disable_jit
from mlirad.jit.registered import register_derivative, register_op
from mlirad.jit.transforms.directions import hvp, jet, jvp, linearize, vjp
from mlirad.jit.transforms.gradients import grad, hessian, jacfwd, jacobian, jacrev, value_and_grad
from mlirad.jit.transforms.implicit_functions import fixed_point, minimize, root
from mlirad.jit.transforms.jitted import jit
from mlirad.jit.transforms.lanes_and_memory import accumulate_grad, checkpoint, vmap
from mlirad.library.own_rules import CustomJvp as custom_jvp
from mlirad.library.own_rules import CustomVjp as custom_vjp
from mlirad.requests.marks_in_programs import checkpointed, stop_gradient
from mlirad.threads import get_num_threads, set_num_threads

if _TYPE_CHECKING:
    from mlirad import nn, random
    from mlirad.explaining.dependence import dependence
    from mlirad.explaining.traces.gradient_record import record_grad
    from mlirad.explaining.traces.trace import trace

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Modules that are imported on first use."""
    if name in ("nn", "random"):
        return _import_module(f"mlirad.{name}")
    if name == "trace":
        return _import_module("mlirad.explaining.traces.trace").trace
    if name == "dependence":
        return _import_module("mlirad.explaining.dependence").dependence
    if name == "record_grad":
        return _import_module("mlirad.explaining.traces.gradient_record").record_grad
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CompileError",
    "DTypeError",
    "DifferentiationError",
    "ShapeError",
    "TargetError",
    "UnsupportedSyntaxError",
    "accumulate_grad",
    "check_grads",
    "checkpoint",
    "checkpointed",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "dependence",
    "disable_jit",
    "fixed_point",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "linearize",
    "minimize",
    "nn",
    "random",
    "record_grad",
    "register_derivative",
    "register_op",
    "root",
    "set_num_threads",
    "stop_gradient",
    "trace",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]
