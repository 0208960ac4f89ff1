"""LLVM: objects reload, code is unloaded, and the host's vectors are used."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mlirad
from mlirad.targets.cpu import CpuTarget, engine
from mlirad.targets.cpu.emit.module import emit_llvm

pytestmark = pytest.mark.usefixtures("young_heap")

_SCALE = """
func.func public @f(%x: memref<?xf64>, %y: memref<?xf64> {{mlirad.written = 0 : i64}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant {k} : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {{
    %u = memref.load %x[%i] : memref<?xf64>
    %v = arith.mulf %k, %u : f64
    memref.store %v, %y[%i] : memref<?xf64>
  }}
  func.return
}}"""


def test_object_code_is_repeatable_and_loads_again(parse) -> None:
    target = CpuTarget()
    text = emit_llvm(parse(_SCALE.format(k="2.0")))
    code = target.compile(text)
    assert code == target.compile(text)
    for _ in range(2):
        y = np.zeros(3)
        target.load(bytes(bytearray(code))).invoke("f", [np.arange(3.0), y])
        np.testing.assert_array_equal(y, [0.0, 2.0, 4.0])


def test_a_users_loop_is_vectorised_without_checks_for_overlap(parse) -> None:
    """The arguments do not alias, so there is one vector loop, and no comparison of pointers before it."""
    text = engine.optimise(emit_llvm(parse(_SCALE.format(k="3.0")), vector_bits=8 * engine.host_vector_bytes()))
    assert "fmul <" in text
    assert "memcheck" not in text


def test_code_without_llvms_optimisations_has_the_same_bits() -> None:
    def loss(x):
        total = 0.0
        for i in range(x.shape[0]):
            total = total * x[i, 0] + np.sin(x[i]).sum()
        return total + (x @ x.T).sum()

    x = np.random.default_rng(0).normal(size=(9, 7))
    plain = mlirad.value_and_grad(loss, unoptimised=True)
    for found, wanted in zip(plain(x), mlirad.value_and_grad(loss)(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
    lowered = plain.lower(x)
    assert lowered.as_text("llvmopt") == lowered.as_text("llvmir")
    assert lowered.as_text("asm").count("\n") > mlirad.value_and_grad(loss).lower(x).as_text("asm").count("\n")
    assert CpuTarget(unoptimised=True).fingerprint() != CpuTarget().fingerprint()


def _scaled(x):
    return 2.0 * x @ x.T


def _summed(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = total * x[i, 0] + 1.0
    return total


def _followed(x):
    total = 0.0
    for i in range(x.shape[1]):
        total = total * x[0, i] + 1.0
    return total


def test_elements_far_apart_are_loaded_and_stored_one_by_one(parse) -> None:
    """One gather instruction is several times slower than single loads on many processors, which LLVM does not know."""
    text = """
    func.func public @f(%x: memref<256x93xf64>, %y: memref<256x93xf64> {mlirad.written = 0 : i64}) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 256 : index
      scf.for %i = %c0 to %n step %c1 {
        %u = memref.load %x[%i, %c0] : memref<256x93xf64>
        %w = arith.mulf %u, %u : f64
        memref.store %w, %y[%i, %c0] : memref<256x93xf64>
      }
      func.return
    }"""
    made = engine.optimise(emit_llvm(parse(text)))
    assembly = engine.assemble(made)
    for wide in ("masked.gather", "masked.scatter"):
        assert wide not in made
    for wide in ("vgather", "vscatter"):
        assert wide not in assembly


def test_only_modules_with_loops_of_scalars_take_the_whole_pipeline() -> None:
    """Code that the compiler has vectorised itself only needs a clean-up, and loops across rows are only unrolled."""
    x = np.arange(35.0).reshape(7, 5)
    for function, first_line in ((_scaled, engine.FINISHED), (_summed, engine.VECTORIZED), (_followed, "define")):
        compiled = mlirad.jit(function)
        assert compiled.lower(x).as_text("llvmir").startswith(first_line)
        np.testing.assert_allclose(compiled(x), function(x))


def _sines(*arrays):
    total = 0.0
    for x in arrays:
        total += np.sum(np.sin(x.T) @ x)
    return total


@pytest.mark.parametrize(("count", "is_large"), [(1, False), (40, True)])
def test_cheaper_addresses_are_only_searched_for_in_small_modules(monkeypatch, count, is_large) -> None:
    """The search is a third of the code generator's time. The option belongs to the process: it is set back."""
    arrays = [np.arange(7.0 * (9 + k)).reshape(9 + k, 7) for k in range(count)]
    compiled = mlirad.jit(_sines)
    np.testing.assert_allclose(compiled(*arrays), _sines(*arrays))
    text = compiled.lower(*arrays).as_text("llvmir")
    assert text.startswith(engine.FINISHED)
    optimised, code = engine.optimise(text), engine.compile_object(text)
    assert code == engine.compile_object(optimised, is_optimised=True)
    shown = engine.assemble(optimised)
    monkeypatch.setattr(engine, "_MANY_BLOCKS", 10**9)
    assert (engine.compile_object(text) != code) == is_large == (engine.assemble(optimised) != shown)
    monkeypatch.undo()
    assert engine.compile_object(text) == code


def test_functions_of_one_name_do_not_meet(load) -> None:
    first, second = load(_SCALE.format(k="2.0")), load(_SCALE.format(k="5.0"))
    x, y, z = np.ones(2), np.zeros(2), np.zeros(2)
    first.invoke("f", [x, y])
    second.invoke("f", [x, z])
    assert (y[0], z[0]) == (2.0, 5.0)


@pytest.mark.parametrize("name", ["exp", "malloc", "main", "free", "<lambda>", "größe", 'a"b\\'])
def test_any_name_will_do(parse, name) -> None:
    """Even a name of the C library: a user's `exp` that calls math.exp does not call itself."""
    from xdsl.dialects.builtin import StringAttr

    module = parse("""
      func.func public @f(%x: f64) -> f64 {
        %y = math.exp %x : f64
        func.return %y : f64
      }""")
    function = module.body.block.first_op
    assert function is not None
    function.properties["sym_name"] = StringAttr(name)
    target = CpuTarget()
    artifact = target.load(target.compile(emit_llvm(module)))
    assert artifact.invoke(name, [0.0]) == (1.0,)


def test_unloading_again_and_again(load) -> None:
    text = _SCALE.format(k="2.0")
    libraries = []
    for _ in range(20):
        artifact = load(text)
        artifact.invoke("f", [np.ones(4), np.zeros(4)])
        libraries.append(weakref.ref(artifact._library))
    del artifact
    gc.collect()
    assert [library() for library in libraries] == [None] * 20


def test_threads_compile_at_once(parse) -> None:
    target = CpuTarget()
    texts = [emit_llvm(parse(_SCALE.format(k=f"{k}.0"))) for k in range(12)]

    def run(k: int) -> float:
        y = np.zeros(1)
        target.load(target.compile(texts[k])).invoke("f", [np.ones(1), y])
        return y[0]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(12))) == [float(k) for k in range(12)]


def test_bad_text_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(RuntimeError):
        engine.compile_object("define i32 @f() { ret i64 0 }")
    # Parses, and is not valid: %x does not dominate its use.
    start = "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\n"
    bad = start + "a:\n %x = add i32 1, 2\n br label %b\nb:\n ret i32 %x\n}"
    with pytest.raises(RuntimeError, match="dominate"):
        engine.compile_object(bad)


def test_symbols_are_this_process_own() -> None:
    symbols = engine.runtime_symbols()
    assert {"free", "aligned_alloc", "exp", "expf", "erf", "memmove"} <= set(symbols)
    assert all(symbols.values())
