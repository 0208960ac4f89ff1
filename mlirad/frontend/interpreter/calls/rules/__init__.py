"""Calls of functions that the compiler knows by more than their code: by derivative rules, or as ops of the target."""
