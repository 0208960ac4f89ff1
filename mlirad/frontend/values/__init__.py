"""The interpreter's values: numbers, arrays as cells and views, sizes, states, and the table of dtypes."""
