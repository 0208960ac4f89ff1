"""NOUNS: the ops, one file per family."""
