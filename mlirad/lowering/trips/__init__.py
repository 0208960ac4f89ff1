"""VERBS on memrefs: loops whose trips threads share."""
