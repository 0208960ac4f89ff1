"""Layers of neural networks, in plain NumPy. Outside kernels, NumPy runs them."""
