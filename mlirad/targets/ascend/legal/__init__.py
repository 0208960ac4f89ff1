"""Stage `ascend-legal`: elementwise functions as formulas in vector instructions."""
