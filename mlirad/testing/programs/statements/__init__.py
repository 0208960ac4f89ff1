"""The statements of random programs, by what they are about."""
