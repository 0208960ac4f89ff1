"""mlirad: plain NumPy in, native gradients out."""
