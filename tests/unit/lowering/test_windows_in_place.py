"""Products that read windows in place: vectors across rows, the last tiles and blocks, and sums that are added."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from run_loops import kernel, lowered

from mlirad.lowering.to_loops.products import windows_in_place

TEXT = """
// in blocks: {in_blocks}
func.func @f(%w: memref<{m}x{c}x{k}x{l}xf32>, %x: memref<{c}x{h}x{v}xf32>, %y: memref<{m}x{rows}x{places}xf32>) {{
  linalg.generic {{
    indexing_maps = [
      affine_map<(i, h, v, c, k, l) -> (i, c, k, l)>,
      affine_map<(i, h, v, c, k, l) -> (c, h + k, v + {step} * l)>,
      affine_map<(i, h, v, c, k, l) -> (i, h, v)>
    ],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  }} ins(%w, %x : memref<{m}x{c}x{k}x{l}xf32>, memref<{c}x{h}x{v}xf32>) outs(%y : memref<{m}x{rows}x{places}xf32>) {{
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }}
  func.return
}}
"""

# rows and width of the image, channels, results, rows and width of the taps, step between taps
CASES = {
    "ragged rows": (20, 33, 3, 13, 3, 3, 1),
    "rows shorter than a vector": (31, 9, 5, 16, 3, 3, 1),
    "few results": (30, 40, 9, 2, 5, 5, 1),
    "dilated": (22, 31, 4, 9, 2, 3, 2),
    "one row": (3, 70, 20, 17, 3, 4, 1),
    "many channels": (16, 16, 130, 8, 3, 3, 1),
}


@pytest.mark.parametrize(("in_blocks", "vector_bytes"), [(False, 32), (True, 64)])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_sums_are_added(
    case: tuple[int, ...], in_blocks: bool, vector_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    h, v, c, m, k, l, step = case
    if in_blocks:  # as if there were a large first factor
        monkeypatch.setattr(windows_in_place, "_ROWS_BYTES", 0)
        monkeypatch.setattr(windows_in_place, "_COLUMNS_BYTES", 1 << 12)
    rows, places = h - k + 1, v - step * (l - 1)
    text = TEXT.format(m=m, c=c, k=k, l=l, h=h, v=v, rows=rows, places=places, step=step, in_blocks=in_blocks)
    rng = np.random.default_rng(0)
    w, x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, c, k, l), (c, h, v), (m, rows, places)))
    windows = sliding_window_view(x, (k, step * (l - 1) + 1), (1, 2))[..., ::step]
    expected = y + np.einsum("ickl,chvkl->ihv", w.astype(np.float64), windows)
    kernel(text, vector_bytes)(w, x, y)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-3)
    assert "memref.reinterpret_cast" in str(lowered(text, vector_bytes))
