"""The paper's protocol as tables."""
