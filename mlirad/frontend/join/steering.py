"""The exceptions that steer the interpreter: a new finding ends an attempt, or restarts it.

Reads: nothing. Writes: nothing. Leaves: exceptions.

    raised by                       exception      caught by, and what happens then
    ----------------------------------------------------------------------------------------------------------------
    a certain error, a body that    Bottom         the block: it has no state after it
      never ends
    a capture or a change that      Restart        build.py: the function is built again, and knows it
      was not known, a derivative
      after omitted rules
    a number or size that must be   NeedStatic     loops.py: the loop it is of is unrolled; inlining.py: the call is
      static (values)                              inlined; build.py: the argument is made static
    a value that did not merge      PoisonUsed     fixpoint.py: a list grows; else as NeedStatic; build.py: refused
    a header that does not settle   NoFixpoint     loops.py: the loop is unrolled, or refused
    a while that is not entered     NotEntered     fixpoint.py: the state is that before the loop
    a place that was predicted      NotConfirmed   fixpoint.py: the search begins again, step by step
      wrong
    a list that a loop appends to   Grows,         filled_lists.py: it is put into arrays, and the search begins again
                                    Unbounded
    a call that leads to itself     Recursive      recursion.py: the outer call becomes a function

NeedStatic and PoisonUsed belong to values (sizes.py, nep50.py), as operators on values raise them.
"""

from __future__ import annotations

from mlirad.frontend.join.list_elements import Element
from mlirad.frontend.join.recursions import Site
from mlirad.frontend.values.poison import Poison


class Bottom(Exception):
    """The following code is never reached: a certain error has been emitted, or every path has left."""


class Restart(Exception):
    """A new finding (a capture, a loop to unroll) must be known from the start."""


class Grows(Exception):
    """A list, given by its number in the state before the loop, grows in the loop."""

    def __init__(self, number: int, element: Element, poison: Poison):
        super().__init__("a list grows")
        self.number, self.element, self.poison = number, element, poison


class Unbounded(Exception):
    """It is unknown before a loop how much it appends to a list, given by its number in the state before the loop."""

    def __init__(self, place: int):
        super().__init__("a list grows without a bound")
        self.place = place


class NotEntered(Exception):
    """The condition of a while is false before the first iteration."""


class NotConfirmed(Exception):
    """A place that was predicted takes its value from elsewhere."""


class Recursive(Exception):
    """An inlined call of `site` leads to the same call again."""

    def __init__(self, site: Site, traced: frozenset[str]):
        super().__init__(f"{site.name} calls itself")
        self.site = site
        self.traced = traced


class NoFixpoint(Exception):
    """The header of a loop does not converge; the message is the reason to unroll the loop."""
