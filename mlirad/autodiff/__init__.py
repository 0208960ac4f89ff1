"""VERB. Derivatives of functions whose ops answer for themselves; knows regions, never an op of ours by its rule."""
