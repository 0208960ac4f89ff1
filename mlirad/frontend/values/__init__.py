"""What the interpreter computes with: numbers, arrays as cells and views, sizes, states, and the table of dtypes."""
