"""VERB. Differentiation. Reads: ad requests. Writes: adjoint regions. Knows regions, never an op of ours by name."""
