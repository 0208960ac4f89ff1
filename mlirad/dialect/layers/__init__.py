"""Ops for the layers of neural networks."""
