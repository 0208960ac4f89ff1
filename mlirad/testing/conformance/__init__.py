"""Tests that every target must pass; the target's own package runs them."""
