"""Functions that call themselves, for the tests of what they do and of their derivatives."""

from __future__ import annotations


def quicksort(a, first, last):
    """Sorts a[first : last + 1] in place."""
    if first >= last:
        return
    pivot, i = a[last], first
    for j in range(first, last):
        if a[j] < pivot:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[last] = a[last], a[i]
    quicksort(a, first, i - 1)
    quicksort(a, i + 1, last)
