"""VERBS on products of matrices: which nests are products, and the tiles and blocks that compute them."""
