"""VERBS: memory -> registers."""
