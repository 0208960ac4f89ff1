"""Transforms in kernels: requests for derivatives and lanes, and transforms built from them."""
