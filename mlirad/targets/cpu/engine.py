"""The only file that talks to LLVM: optimise, compile, link into the process, unload. Thread-safe.

Reads: LLVM IR text, or object code. Writes: IR, assembly, object code, addresses. Leaves: nothing of a freed `Library`.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TypeVar

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

from mlirad import forking
from mlirad.targets.cpu import llvm_lock
from mlirad.targets.cpu.call_context import MAIN_THREAD
from mlirad.targets.cpu.code_memory import check_room_for_code
from mlirad.targets.cpu.pass_builder import pass_builder
from mlirad.targets.cpu.print_callback import PRINT, print_address

_OPTIMISATION = 2

FINISHED = "; no loop here is left to be vectorised"
"""The first line of IR in which all loops are vector loops: it is enough to clean up each function by itself."""

VECTORIZED = "; loops here are only left to be unrolled"
"""The first line of IR in which all other loops are cheap, and slower in vectors."""

BEGIN_IMPROVED, END_IMPROVED = "; these functions get all of LLVM's passes", "; what follows belongs to all functions"
"""The lines around functions with loops that are left to be vectorised, in a module whose other functions have none."""

UNROLLED, IMPROVED = "unrolled", "improved"
"""The kinds of symbols of functions that are only left to be unrolled, and of those that get all of LLVM's passes."""

# Functions that LLVM's code generator may call, besides those that the emitter calls by name. Each also as `...f`, for
# float.
_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp10 exp2 expm1 floor fma fmax fmin fmod
    ldexp log log10 log1p log2 nearbyint pow rint round roundeven sin sincos sinh sqrt tan tanh trunc
"""
_LIBC = ("aligned_alloc", "bcmp", "clock_gettime", "free", "memcmp", "memcpy", "memmove", "memset", "realloc")
_PYTHON = (
    "PyErr_CheckSignals",
    "PyErr_Fetch",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyThread_get_thread_ident",
)
_LIBRARIES = {"linux": "libm.so.6", "darwin": "libSystem.B.dylib"}

# The thread in which Python handles signals: long-running code in it polls. After a fork it is the thread that forked.
_main_thread = ctypes.c_uint64(threading.main_thread().ident or 0)


def _is_main() -> None:
    _main_thread.value = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_is_main)

_lock = forking.new_lock()
forking.hold(llvm_lock.lock)
_numbers = itertools.count()


@cache
def _features() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


@cache
def host_vector_bytes() -> int:
    """The width of the host's widest vector registers that LLVM should use."""
    features = _features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx") else 16


@cache
def has_halves() -> bool:
    """Whether the host has instructions that convert float16; LLVM would otherwise call functions that do not exist
    here."""
    return "sse2" not in _features() or bool(_features().get("f16c"))


@cache
def host_name() -> str:
    """The processor's architecture and model, in LLVM's names."""
    return f"{llvm.get_process_triple().partition('-')[0]} {llvm.get_host_cpu_name()}"


def host_fingerprint() -> str:
    """Everything that object code depends on: LLVM, the platform, the processor and its features."""
    version = ".".join(map(str, llvm.llvm_version_info))
    words = (llvmlite.__version__, version, llvm.get_process_triple(), llvm.get_host_cpu_name(), _flattened())
    return ";".join((*words, f"O{_OPTIMISATION}"))


@cache
def _flattened() -> str:
    """The host's features, with slow gathers turned off: elements far apart are not loaded by one instruction.

    LLVM considers a gather of four elements cheaper than four loads. On processors with mitigations against leaks it is
    not: a loop along the column of a matrix took twice as long as with separate loads.
    """
    features = llvm.get_host_cpu_features().flatten()
    return features + (",+prefer-no-gather,+prefer-no-scatter" if "sse2" in _features() else "")


def runtime_symbols() -> dict[str, int]:
    """Addresses of the C library's functions. `free` and `aligned_alloc` are those that Python sees through ctypes."""
    return dict(_symbols())


@cache
def _symbols() -> dict[str, int]:
    libraries = [ctypes.CDLL(None)]
    if name := _LIBRARIES.get(sys.platform):
        libraries.append(ctypes.CDLL(name))
    found: dict[str, int] = {MAIN_THREAD: ctypes.addressof(_main_thread), PRINT: print_address()}
    for symbol in _PYTHON:
        found[symbol] = ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p).value or 0
    for symbol in (*_LIBC, *_MATH.split(), *[f"{name}f" for name in _MATH.split()]):
        for library in libraries:
            # An older C library lacks some (exp10, roundeven); linking fails if one of them is really needed.
            if hasattr(library, symbol):
                found[symbol] = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
                break
    return found


class _Compiler:
    """LLVM's objects that are created once: the target machine, and its identification. `plain` translates each
    instruction by itself."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.machine, self.plain = self._machine(_OPTIMISATION), self._machine(0)
        self.triple = self.machine.triple
        self.layout = str(self.machine.target_data)

    @staticmethod
    def _machine(optimisation: int) -> llvm.TargetMachine:
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=_flattened(),
            opt=optimisation,
            reloc="pic",
            codemodel="default",
            jit=True,
        )


class _Session:
    """A JIT with a library of the C library's functions, to which all its other libraries are linked.

    A JIT keeps some 4 KiB of each unloaded library, so a new JIT is created after some libraries. An old one is freed
    with its last library.

    Code addresses its constants by their distance, in 32 bits. JITLink puts both into one mapping; LLVM's older linker
    maps them wherever there is room, and aborts if that is too far away.
    """

    SYMBOLS = "mlirad.symbols"
    MOST_LIBRARIES = 64

    def __init__(self, machine: llvm.TargetMachine):
        builder = llvm.JITLibraryBuilder()
        for name, address in _symbols().items():
            builder.import_symbol(name, address)
        self.jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        self.symbols = builder.link(self.jit, self.SYMBOLS)
        self.libraries = 0


_compiler: list[_Compiler] = []
_sessions: list[_Session] = []  # the current one comes last


def _get_compiler() -> _Compiler:
    if not _compiler:
        with _lock:
            if not _compiler:
                _compiler.append(_Compiler())
    return _compiler[0]


def _get_session() -> _Session:
    """The JIT for the next library."""
    machine = _get_compiler().machine
    with _lock:
        if not _sessions or _sessions[0].libraries >= _Session.MOST_LIBRARIES:
            _sessions[:] = [_Session(machine)]
        _sessions[0].libraries += 1
        return _sessions[0]


@contextmanager
def _parsed(text: str) -> Iterator[llvm.ModuleRef]:
    """A verified module in its own context, so that it is freed completely."""
    with _parsed_in(text, llvm.create_context()) as module:
        yield module


def _parsed_in(text: str, context: llvm.ContextRef) -> llvm.ModuleRef:
    compiler = _get_compiler()
    module = llvm.parse_assembly(text, context)
    module.triple = compiler.triple
    module.data_layout = compiler.layout
    module.verify()
    return module


@contextmanager
def _optimised(text: str) -> Iterator[llvm.ModuleRef]:
    """The optimised module of a text, whose first line says what is left to be done."""
    is_unrolled = text.startswith(VECTORIZED)
    if not is_unrolled and not text.startswith(FINISHED):
        with _parsed(text) as module:
            _improve(module)
            yield module
        return
    most, improved = _divided(text)
    context = llvm.create_context()
    with _parsed_in(most, context) as module:
        for function in module.functions:
            if not function.is_declaration:
                clean_up = _clean_up(unrolls=is_unrolled or function.name.startswith(_UNROLLED))
                with _pass_builder(_options()) as builder, _freed(clean_up) as passes:
                    passes.run(function, builder)
        if improved is not None:
            other = _parsed_in(improved, context)
            _improve(other)
            module.link_in(other)
        for function in module.functions:
            if function.name.startswith(_IMPROVED):
                function.linkage = "internal"
        yield module


_UNROLLED = f"mlirad.{UNROLLED}."
_IMPROVED = f"mlirad.{IMPROVED}."


def _divided(text: str) -> tuple[str, str | None]:
    """The module's text without the functions that get all of LLVM's passes, and their text, if any."""
    first, begin, rest = text.partition(BEGIN_IMPROVED)
    if not begin:
        return text, None
    improved, _, shared = rest.partition(END_IMPROVED)
    heads = re.findall(r"^define hidden (.*) \{$", improved, re.MULTILINE)
    return "\n".join([first, *(f"declare {head}" for head in heads), shared]), improved + shared


def _options() -> llvm.PipelineTuningOptions:
    return llvm.create_pipeline_tuning_options(speed_level=_OPTIMISATION)


def _improve(module: llvm.ModuleRef) -> None:
    """Run all of LLVM's passes."""
    options = _options()
    options.loop_vectorization = True
    options.slp_vectorization = False  # decision 123
    options.loop_interleaving = True
    options.loop_unrolling = True
    with _pass_builder(options) as builder, _freed(builder.getModulePassManager()) as passes:
        passes.run(module, builder)


def _clean_up(*, unrolls: bool) -> llvm.FunctionPassManager:
    """The passes that pay in functions with finished loops, or with loops to be unrolled.

    LLVM's own clean-up takes six times as long, without faster code: the emitter's loops are rotated already, and the
    code generator hoists loop-invariant code and shares common subexpressions.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    if unrolls:
        passes.add_loop_unroll_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    return passes


def _pass_builder(options: llvm.PipelineTuningOptions) -> AbstractContextManager[llvm.PassBuilder]:
    return pass_builder(_get_compiler().machine, options)


_Passes = TypeVar("_Passes", llvm.ModulePassManager, llvm.FunctionPassManager)


@contextmanager
def _freed(passes: _Passes) -> Iterator[_Passes]:
    """Free passes at the end. llvmlite does not: their class inherits an empty `_dispose` before the real one."""
    try:
        yield passes
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


def optimise(text: str) -> str:
    """LLVM IR after LLVM's O2 pipeline with the vectoriser of loops, or after a clean-up if loops are finished, which
    its first line then still says."""
    with _optimised(text) as module:
        return f"{FINISHED}\n{module}" if text.startswith(FINISHED) else str(module)


_MANY_BLOCKS = 150
"""From so many basic blocks on, finished code is translated without a search for cheaper addresses (decision 148)."""


@contextmanager
def _translator(text: str, module: llvm.ModuleRef, *, is_plain: bool) -> Iterator[llvm.TargetMachine]:
    """The machine that translates a text's module.

    The search for cheaper addresses (LLVM's loop strength reduction) can only be turned off for the process, so no
    other thread may call LLVM meanwhile.
    """
    compiler = _get_compiler()
    if is_plain or not text.startswith(FINISHED) or not _has_many_blocks(module):
        yield compiler.plain if is_plain else compiler.machine
        return
    with llvm_lock.lock:
        try:
            llvm.set_option("mlirad", "-disable-lsr=true")
            yield compiler.machine
        finally:
            llvm.set_option("mlirad", "-disable-lsr=false")


def _has_many_blocks(module: llvm.ModuleRef) -> bool:
    blocks = itertools.chain.from_iterable(function.blocks for function in module.functions)
    return next(itertools.islice(blocks, _MANY_BLOCKS - 1, None), None) is not None


def assemble(text: str, *, is_plain: bool = False) -> str:
    """The host's assembly for optimised IR. is_plain: as in `compile_object`."""
    with _parsed(text) as module, _translator(text, module, is_plain=is_plain) as machine:
        return machine.emit_assembly(module)


def compile_object(text: str, *, is_optimised: bool = False, is_plain: bool = False) -> bytes:
    """Optimise IR, unless it is already optimised, and compile it to an object file.

    is_plain: LLVM optimises nothing, and takes a fifth of the time.
    """
    parsed = _parsed(text) if is_optimised or is_plain else _optimised(text)
    with parsed as module, _translator(text, module, is_plain=is_plain) as machine:
        return machine.emit_object(module)


class Library:
    """Object code linked into the process. It is unloaded when this object is freed."""

    def __init__(self, code: bytes, exports: tuple[str, ...], symbols: Mapping[str, int] | None = None):
        """symbols: addresses that the code refers to, besides the C library's functions. Raises MemoryError."""
        check_room_for_code()
        self._session = _get_session()
        builder = llvm.JITLibraryBuilder().add_object_img(code)
        builder.add_jit_library(_Session.SYMBOLS).add_current_process()
        for name, address in (symbols or {}).items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        self._tracker = builder.link(self._session.jit, f"mlirad.{next(_numbers)}")

    def __getitem__(self, name: str) -> int:
        """The address of an exported symbol. (A lookup would create a second owner, whose end unloads the code.)"""
        return self._tracker[name]
