"""Text with values of the run in it."""
