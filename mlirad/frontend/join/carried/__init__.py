"""The values that loops carry."""
