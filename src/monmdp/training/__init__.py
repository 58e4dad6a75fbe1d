"""Training: the compiled loop, what it records, and the curves it returns."""
