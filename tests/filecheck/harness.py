# RUN: python %s | filecheck %s
# RUN: not python %s --fail 2>&1 | filecheck %s --check-prefix=FAIL
# RUN: env MLIRAD_SAMPLE=1 python %s | filecheck %s --check-prefixes=CHECK,SAMPLE
"""The runner itself, the same under pytest and lit."""

import os
import sys

# CHECK: two is 2
print("two is", 1 + 1)

# SAMPLE-NEXT: sample 1
if "MLIRAD_SAMPLE" in os.environ:
    print("sample", os.environ["MLIRAD_SAMPLE"])

if "--fail" in sys.argv:
    # FAIL: harness.py", line [[# @LINE + 2]], in <module>
    # FAIL: ValueError: asked for
    raise ValueError("asked for")
