"""What every target has to do, as tests that its own package runs."""
