"""Runs modules op by op with NumPy: what tests, debugging modes and traces share."""
