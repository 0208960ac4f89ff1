"""Decides how the reverse sweep recovers each forward value. Reads the IR, emits nothing."""
