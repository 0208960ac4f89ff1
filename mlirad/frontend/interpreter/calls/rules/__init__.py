"""Calls of functions that are known by more than their code: by derivative rules, as ops of the target."""
