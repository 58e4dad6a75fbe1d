"""Exact solutions: optimal and minimax values, returns of policies, solvability, diameters."""
