"""Layers of neural networks, in plain NumPy: called outside kernels, NumPy runs them."""
