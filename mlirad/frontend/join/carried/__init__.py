"""What loops carry."""
