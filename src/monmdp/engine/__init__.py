"""Random streams, stepping and the compiled loops; everything here works on plain arrays."""
