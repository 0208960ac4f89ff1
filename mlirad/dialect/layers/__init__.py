"""Ops that layers of neural networks are made of."""
