"""Random NumPy programs, and what they are compared with: a judge of the whole compiler."""
