"""The training loop on a GPU: the same kernel bodies, the same numbers, all runs of a sweep side by side."""
