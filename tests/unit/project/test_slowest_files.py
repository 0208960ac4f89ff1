from __future__ import annotations

from slowest_files import slowest

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="x" time="1.5"/><testcase classname="tests.b" name="y" time="2.0"/>
<testcase classname="tests.a" name="z" time="1.0"/><testcase classname="tests.c" name="w" time="0.1"/>
</testsuite></testsuites>"""


def test_a_file_takes_what_its_tests_take() -> None:
    assert slowest(REPORT, 2) == [("tests.a", 2.5), ("tests.b", 2.0)]
