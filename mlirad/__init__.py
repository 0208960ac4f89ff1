"""mlirad: plain NumPy in, native gradients out.

@mlirad.jit                      compile a NumPy function, loops, branches and in-place updates included
mlirad.grad(f)(x)                its gradient, native too; value_and_grad, vjp, jvp, vmap
f.lower(x).as_text("autodiff")   the IR at any stage
mlirad.set_num_threads(n)        how many threads share the work of @mlirad.jit(parallel=True)
"""

from mlirad import replaced_functions as _replaced  # noqa: F401 - it remembers which functions NumPy has
from mlirad import tree
from mlirad.errors import (
    CompileError,
    DifferentiationError,
    DTypeError,
    ShapeError,
    TargetError,
    UnsupportedSyntaxError,
)
from mlirad.jit.transforms import grad, jit, jvp, value_and_grad, vjp, vmap
from mlirad.requests import checkpointed
from mlirad.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "DTypeError",
    "DifferentiationError",
    "ShapeError",
    "TargetError",
    "UnsupportedSyntaxError",
    "checkpointed",
    "get_num_threads",
    "grad",
    "jit",
    "jvp",
    "set_num_threads",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]
