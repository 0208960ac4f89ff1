"""JAX is optional: for the type checker, all of it is Any, whether it is installed or not."""

from typing import Any

def __getattr__(name: str) -> Any: ...
