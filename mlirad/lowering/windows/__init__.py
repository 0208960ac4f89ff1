"""VERB on nd and linalg: products with the windows of arrays, without copies of the windows."""
