"""Text that contains run-time values."""
