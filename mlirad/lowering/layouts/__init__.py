"""VERBS on nd ops: how arrays that ops read and write by slices are stored."""
