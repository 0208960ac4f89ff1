"""mlirad: plain NumPy in, native gradients out.

@mlirad.jit                      compile a NumPy function, loops, branches and in-place updates included
mlirad.grad(f)(x)                its gradient, native too; value_and_grad, vjp, jvp
f.lower(x).as_text("autodiff")   the IR at any stage
"""

from mlirad import tree
from mlirad.errors import (
    CompileError,
    DifferentiationError,
    DTypeError,
    ShapeError,
    TargetError,
    UnsupportedSyntaxError,
)
from mlirad.jit.transforms import grad, jit, jvp, value_and_grad, vjp
from mlirad.requests import checkpointed

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "DTypeError",
    "DifferentiationError",
    "ShapeError",
    "TargetError",
    "UnsupportedSyntaxError",
    "checkpointed",
    "grad",
    "jit",
    "jvp",
    "tree",
    "value_and_grad",
    "vjp",
]
