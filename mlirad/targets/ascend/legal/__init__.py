"""Stage `ascend-legal`: elementwise functions as formulas of what the vector unit computes."""
