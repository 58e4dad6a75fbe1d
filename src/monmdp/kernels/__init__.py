"""Compiled functions over arrays that more than one layer uses."""
