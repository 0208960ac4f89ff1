"""Ops on the parts and the order of arrays: elements, slices, index arrays, masks, sorting."""
