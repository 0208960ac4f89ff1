"""Ops that are functions of real numbers, elementwise."""
