"""NOUNS: the ops, one file a family."""
