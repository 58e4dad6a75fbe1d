"""Agents with neural networks, which see pictures in place of states (extra `deep`: JAX and Optax)."""
