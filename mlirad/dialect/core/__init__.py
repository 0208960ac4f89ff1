"""What every op stands on: types, the registry, NumPy's operators on IR values, and what an op answers."""
