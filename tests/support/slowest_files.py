"""`python slowest_files.py tests.xml`: prints the ten test files that took most time, from pytest's JUnit report."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree


def slowest(report: str, count: int = 10) -> list[tuple[str, float]]:
    """Files, as JUnit's class names, and their seconds, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.fromstring(report).iter("testcase"):
        seconds[case.get("classname", "")] += float(case.get("time", 0))
    return sorted(seconds.items(), key=lambda item: -item[1])[:count]


if __name__ == "__main__":
    print("\nthe ten slowest files:")
    for name, time in slowest(Path(sys.argv[1]).read_text()):
        print(f"{time:8.1f} s  {name}")
