"""Averages, quantiles and histograms: NumPy's functions of statistics, written in NumPy."""
