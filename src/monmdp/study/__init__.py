"""Sweeps: cells, executors, the Parquet store and its results."""
