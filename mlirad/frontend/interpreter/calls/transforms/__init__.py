"""Transforms in kernels: requests for derivatives and lanes, and transforms that are made of them."""
