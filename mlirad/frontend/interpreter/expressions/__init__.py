"""Expressions: operators, comparisons, conditions, and items of arrays and containers."""
