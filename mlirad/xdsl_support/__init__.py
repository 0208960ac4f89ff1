"""All that mlirad adds to xDSL 0.74 or changes in it. Importing the package applies it, once.

The gaps of xDSL 0.74, by file; with the thread in xdslproject/xdsl if one is known:

* `linalg_effects.py`: the effects of `linalg.generic`, `fill`, `copy` and `index`. Without them no pass may remove or
  merge such an op. (The traits exist since #2640 and #2987; linalg does not use them.)
* `vector_arith.py`: casts, comparisons and `select` of `arith` on vectors, which MLIR has.
* `complex_fills.py`: `linalg.fill` of complex numbers, which MLIR has.
* `generic_results.py`: text of `linalg.generic` with several results that parses back.
* `while_locations.py`: text of `scf.while` with locations that parses back.
* `remf.py`, `prefetch.py`: the ops `arith.remf` and `memref.prefetch`, which MLIR has.
* `effects.py`: an answer to "is this op pure?" that does not search the op's traits each time.
* `traversal.py`: walks of the IR that are fast, and safe while a pass changes what it walks over.
* `fast_accessors.py`: fast reading of operands and results by name; verification once for all ops that are alike.
* `late_formats.py`: an op's assembly format is read when it is first used, not when the dialect is imported.
* `fast_operations.py`: creating ops, comparing values and reading array attributes, each in half the time.
* `plain_instance_checks.py`: `isinstance` of values, attributes and ops without the search for virtual subclasses.
* `once_per_object.py`: caches a function's result on an immutable object.
* `verify.py`: a check of dominance (#1033 and #4023, both open), and of the regions of `scf.if` and `scf.while`.
* `parser.py`: the place in the text of each op without `loc(...)` (#815, open), errors with a place, and strings in
  linear time.

Reads: xDSL's classes. Writes: the classes of linalg, arith and scf that the first five files name, the metaclass of all
values, attributes and ops, and what `fast_operations.py` and `late_formats.py` name. Leaves: all others.
No pass changes a class of xDSL: the results of other passes would depend on whether it ran before them.
"""

# ruff: noqa: E402  (the formats of a dialect are read when it is imported, so this comes before all dialects)

from __future__ import annotations

from mlirad.xdsl_support.late_formats import read_formats_late

read_formats_late()

from mlirad.xdsl_support.complex_fills import mend_fills
from mlirad.xdsl_support.fast_operations import create_quickly
from mlirad.xdsl_support.generic_results import mend_generic_results
from mlirad.xdsl_support.linalg_effects import declare_effects
from mlirad.xdsl_support.plain_instance_checks import check_plainly
from mlirad.xdsl_support.vector_arith import mend_vector_arith
from mlirad.xdsl_support.while_locations import mend_while_locations

check_plainly()
create_quickly()
declare_effects()
mend_fills()
mend_generic_results()
mend_vector_arith()
mend_while_locations()
