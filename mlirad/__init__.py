"""mlirad: plain NumPy in, native gradients out."""

__version__ = "0.1.0"
