"""The paper as data: problems, budgets, learning rates, presets and claims."""
