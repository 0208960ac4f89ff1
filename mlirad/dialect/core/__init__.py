"""What every op is built on: types, the registry, NumPy's operators on IR values, and what an op answers."""
