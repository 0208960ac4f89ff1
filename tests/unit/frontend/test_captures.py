"""The values that a function takes from outside: arrays are hidden arguments, everything else is guarded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from run_frontend import call, call_built, compile_for

from mlirad.contract.results import CaptureAlias
from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.frontend.build import Build

WEIGHTS = np.arange(3.0)
SCALE = 2.5
NETWORK = {"w": [np.ones(3), np.full(3, 2.0)], "depth": 2}


class Settings:
    rate = 0.5


SETTINGS = Settings()


def uses_globals(x):
    return (WEIGHTS * x).sum() * SCALE


def helper(x):
    return x + WEIGHTS


def uses_helper(x):
    return helper(x) * WEIGHTS


def walks(x):
    for w in NETWORK["w"]:
        x = x * w
    return x * NETWORK["depth"] * SETTINGS.rate


def writes(x):
    WEIGHTS[0] = x
    return WEIGHTS


def rebinds(x):
    global SCALE
    SCALE = x


def changes_list(x):
    NETWORK["depth"] = x


def test_arrays_are_fetched_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    built = compile_for(uses_globals, np.ones(3))
    assert [str(capture.path) for capture in built.captures] == ["WEIGHTS"]
    assert call_built(built, np.ones(3)) == uses_globals(np.ones(3))
    monkeypatch.setitem(uses_globals.__globals__, "WEIGHTS", np.array([5.0, 6.0, 7.0]))
    assert call_built(built, np.ones(3)) == 18 * SCALE
    assert all(guard.holds() for guard in built.guards)


def test_numbers_and_functions_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    built = compile_for(uses_globals, np.ones(3))
    monkeypatch.setitem(uses_globals.__globals__, "SCALE", 3.0)
    assert not all(guard.holds() for guard in built.guards)
    built = compile_for(uses_helper, np.ones(3))
    monkeypatch.setitem(uses_globals.__globals__, "helper", lambda x: x)
    assert not all(guard.holds() for guard in built.guards)


def test_an_array_that_two_functions_capture_is_one() -> None:
    built = compile_for(uses_helper, np.ones(3))
    assert len(built.captures) == 1
    assert np.array_equal(call_built(built, np.ones(3)), uses_helper(np.ones(3)))


def test_containers_and_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    built = compile_for(walks, np.ones(3))
    assert [str(capture.path) for capture in built.captures] == ["NETWORK['w'][0]", "NETWORK['w'][1]"]
    assert np.array_equal(call_built(built, np.ones(3)), walks(np.ones(3)))
    monkeypatch.setattr(SETTINGS, "rate", 0.25)
    assert not all(guard.holds() for guard in built.guards)
    monkeypatch.undo()
    assert all(guard.holds() for guard in built.guards)
    monkeypatch.setitem(NETWORK, "w", [np.ones(3)])
    assert not all(guard.holds() for guard in built.guards)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[Build]:
    """The attempts to build a function."""
    found: list[Build] = []
    run = Build.run

    def noted(self: Build) -> Any:
        found.append(self)
        return run(self)

    monkeypatch.setattr(Build, "run", noted)
    return found


def test_the_arrays_that_the_text_names_are_foreseen(attempts: list[Build]) -> None:
    layers = {"w": [np.full(3, float(k)) for k in range(8)], "b": {"first": np.ones(3), "last": np.zeros(3)}}
    shift = np.array([1.0, 2.0, 3.0])

    def shifted(x):
        return x + shift

    def network(x):
        for w in layers["w"]:
            x = x * w + layers["b"]["first"]
        return np.sum(shifted(x) + layers["b"]["last"]) + np.sum(WEIGHTS)

    assert call(network, np.ones(3)) == network(np.ones(3))
    assert len(attempts) == 1


def test_the_arrays_of_a_container_are_found_in_one_attempt(attempts: list[Build]) -> None:
    layers = {"w": [np.full(3, float(k)) for k in range(8)], "b": {"first": np.ones(3), "last": np.zeros(3)}}

    def network(x, layers=layers):  # a default is not foreseen
        for w in layers["w"]:
            x = x * w + layers["b"]["first"]
        return np.sum(x + layers["b"]["last"])

    assert call(network, np.ones(3)) == network(np.ones(3))
    assert len(attempts) == 2


def test_a_foreseen_array_that_is_never_met_is_no_argument(attempts: list[Build]) -> None:
    plotted, used, is_plotting = np.ones((50, 50)), np.arange(3.0), False

    def loss(x):
        if is_plotting:
            return np.sum(plotted)
        return np.sum(used * x)

    built = compile_for(loss, np.ones(3))
    assert [str(capture.path) for capture in built.captures] == ["used"]
    assert call_built(built, np.ones(3)) == 3.0
    assert len(attempts) == 2


def test_a_captured_array_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = np.zeros(3)
    monkeypatch.setitem(uses_globals.__globals__, "WEIGHTS", mine)
    built = compile_for(writes, 7.0)
    assert built.results == (CaptureAlias(0),) and list(built.captures_written) == [0]
    assert call_built(built, 7.0) is mine
    assert mine.tolist() == [7.0, 0.0, 0.0]


def test_closure_cells() -> None:
    array, factor = np.ones(2), 3.0

    def inner(x, *, k=array):
        return x * array.sum() * factor + k[0]

    assert call(inner, 2.0) == 13.0
    built = compile_for(inner, 2.0)
    array[0] = 5.0
    assert call_built(built, 2.0) == inner(2.0)
    factor = 4.0
    assert not all(guard.holds() for guard in built.guards)


@pytest.mark.parametrize("function", [rebinds, changes_list])
def test_what_stands_around_the_function_is_not_rebound(function: Any) -> None:
    with pytest.raises(UnsupportedSyntaxError):
        compile_for(function, 1.0)


def test_a_name_that_is_nowhere() -> None:
    def lost(x):
        return x + nowhere  # noqa: F821  (the error that is tested)

    with pytest.raises(CompileError, match="'nowhere' is not defined"):
        compile_for(lost, 1.0)


def test_containers_that_contain_themselves() -> None:
    shared = [1.0]
    ring: list[Any] = [1.0, shared]
    chain: dict[str, list[Any]] = {"next": [2.0]}
    twice = [shared, shared]
    ring.append((ring,))
    chain["next"].append(chain)

    def shares(x):
        return x * twice[0][0] * twice[1][0]

    def reads_ring(x):
        return x * ring[0]

    def reads_chain(x):
        return x * chain["next"][0]

    assert call(shares, 2.0) == 2.0
    with pytest.raises(UnsupportedSyntaxError, match="a list that contains itself"):
        compile_for(reads_ring, 1.0)
    with pytest.raises(UnsupportedSyntaxError, match="a dict that contains itself"):
        compile_for(reads_chain, 1.0)
