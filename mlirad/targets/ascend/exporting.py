"""The kernels of a function as files for Huawei's compiler, and the data that their callers need.

Reads: a module of stage `optimized`. Writes: texts by the names of files. Leaves: nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Region
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mlirad.dialect.core import types
from mlirad.dialect_version import DIALECT_VERSION
from mlirad.targets.ascend.emit.virtual import BLOCKS
from mlirad.targets.ascend.hivm.hivm_attributes import CoreTypeAttr
from mlirad.targets.ascend.kernels.kernel_outlining import CORE, ENTRY
from mlirad.xdsl_support.traversal import find

NEVER_RUN = "NEVER RUN ON HARDWARE"
FLAGS = "-enable-hivm-compile --disable-auto-cv-work-space-manage"
"""Without the second flag, a pass of bishengir-compile 1.2.0 does not terminate for some kernels."""


def files_of(module: ModuleOp, name: str, passes: Sequence[ModulePass], soc: str) -> Mapping[str, str]:
    """passes: the passes of all stages in order; the last one produces the simulator's input."""
    for each in passes[:-1]:
        each.apply(Context(), module)
    simulated = module.clone()
    passes[-1].apply(Context(), simulated)
    kernels = [op for op in module.ops if isinstance(op, func.FuncOp) and ENTRY in op.attributes]
    entries, files = [_entry_of(each, module) for each in kernels], {}
    for kernel, entry in zip(kernels, entries, strict=True):
        files[entry["file"]] = _with_banner(ModuleOp([kernel.clone()]), soc, _command(entry["name"], soc))
        _make_declaration(kernel)
    files["host.mlir"] = _with_banner(module, soc, "The functions of the host, which launch the kernels.")
    files["simulated.mlir"] = _with_banner(simulated, soc, "Addresses and flags as the simulator executes them.")
    files["compile.sh"] = "\n".join(
        [f"# {_banner(soc)}", "set -e", *(_command(each["name"], soc) for each in entries), ""]
    )
    manifest = {
        "status": NEVER_RUN,
        "dialects": DIALECT_VERSION,
        "soc": soc,
        "function": name,
        "host": _signature(next(each for each in find(module, func.FuncOp) if each.sym_name.data == name)),
        "kernels": entries,
    }
    files["manifest.json"] = json.dumps(manifest, indent=2) + "\n"
    return files


def _banner(soc: str) -> str:
    return f"{NEVER_RUN}: written by mlirad for the {soc}; only a simulator has executed it."


def _command(kernel: str, soc: str) -> str:
    return f"bishengir-compile {kernel}.mlir {FLAGS} --target={soc} -o {kernel}.o"


def _with_banner(module: ModuleOp, soc: str, what: str) -> str:
    """Generic text, which Huawei's tools read, with the lines of the user's program."""
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_debuginfo=True).print_op(module)
    return f"// {_banner(soc)}\n// {what}\n{stream.getvalue()}\n"


def _entry_of(kernel: func.FuncOp, module: ModuleOp) -> dict[str, Any]:
    """The manifest's entry for a kernel; its blocks are those of its launch."""
    name, core = kernel.sym_name.data, kernel.attributes[CORE]
    launch = next(each for each in find(module, func.CallOp) if each.callee.string_value() == name)
    blocks = launch.attributes[BLOCKS]
    assert isinstance(core, CoreTypeAttr) and isinstance(blocks, IntegerAttr)
    about = {"name": name, "file": f"{name}.mlir", "core": core.data.value, "blocks": blocks.value.data}
    return {**about, **_signature(kernel)}


def _signature(function: func.FuncOp) -> dict[str, Any]:
    kind = function.function_type
    return {"arguments": list(map(_described, kind.inputs)), "results": list(map(_described, kind.outputs))}


def _described(type: Attribute) -> dict[str, Any]:
    """Booleans have one byte each."""
    if not isinstance(type, MemRefType):
        return {"dtype": str(type)}
    return {"dtype": str(types.to_dtype(type.element_type)), "shape": list(type.get_shape())}


def _make_declaration(kernel: func.FuncOp) -> None:
    declared = func.FuncOp(kernel.sym_name.data, kernel.function_type, Region(), "private")
    declared.attributes.update(kernel.attributes)
    module = kernel.parent_block()
    assert module is not None
    module.insert_op_before(declared, kernel)
    kernel.detach()
    kernel.erase()
