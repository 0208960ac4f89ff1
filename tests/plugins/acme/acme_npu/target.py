"""Acme's processor, for mlirad: `jit(f, target="acme", model="small")`.

Reads: the module of stage `optimized`. Writes: stages `acme` and `acme-text`. Leaves: an artifact that runs the text.
Heavy imports are in functions: options are checked, and code is found in the cache, without xDSL.
"""

from dataclasses import dataclass
from math import prod

from mlirad.errors import TargetError
from mlirad.targets.target import MemorySpace, RuntimeInfo, Stage, Target

_SCRATCH = {"small": 64 << 10, "large": 1 << 20}


@dataclass(frozen=True)
class AcmeTarget(Target):
    name = "acme"
    api_version = (1, 0)
    loads = "acme-text"

    model: str = "small"

    def __post_init__(self):
        if self.model not in _SCRATCH:
            raise ValueError(f"model is {' or '.join(map(repr, _SCRATCH))}, not {self.model!r}")

    @property
    def memory_spaces(self):
        return {"scratch": MemorySpace(_SCRATCH[self.model], alignment=64)}

    def dialects(self):
        from acme_npu.ops import Acme

        return (Acme,)

    def check(self, module):
        from xdsl.dialects.builtin import TensorType

        from mlirad.dialect.core import types

        limit, found = _SCRATCH[self.model], []
        arrays = [(op, each) for op in module.walk() for each in op.result_types if isinstance(each, TensorType)]
        for op, array in arrays:
            size = types.to_dtype(array.element_type).itemsize * prod(array.get_shape())
            if array.has_static_shape() and size > limit:
                message = f"an array of {size} bytes; the scratch memory of the model {self.model!r} has {limit}"
                hint = "compute it in parts, or use model='large'"
                found.append(TargetError(message, types.from_location(op.location), hint))
        return found

    def stages(self):
        return (Stage("acme", _without_repetitions), Stage("acme-text", _text))

    def compile(self, value):
        return value.encode()

    def load(self, code, code_cache=None):
        from mlirad.jit.live.op_by_op import InterpretedArtifact
        from mlirad.targets.reading import parsed

        return InterpretedArtifact(parsed(code.decode(), self))

    def runtime_info(self):
        return RuntimeInfo("interpreter", f"Acme {self.model}", "1.0")

    def fingerprint(self):
        return "acme-npu 1.0"


def _without_repetitions(module):
    from mlirad.lowering.clean_up.cse import Cse
    from mlirad.pipeline import apply

    return apply([Cse()], module)


def _text(module):
    from mlirad.pipeline import text_of

    return text_of(module, locations=True)
