"""Targets: the owners of the pipeline's tail, found by name through the entry-point group `mlirad.targets`."""
