"""Exact answers: optimal and minimax values, returns of policies, reachability, diameters."""
