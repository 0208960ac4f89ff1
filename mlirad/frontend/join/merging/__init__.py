"""How two states become one."""
