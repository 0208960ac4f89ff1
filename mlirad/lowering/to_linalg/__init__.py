"""VERB: nd ops -> linalg.generic on tensors, one for each fused group."""
