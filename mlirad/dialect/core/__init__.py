"""The base of every op: types, the registry, NumPy's operators on IR values, and the questions that an op answers."""
