"""Short answers from a results folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monmdp.study.store import Store, read_table
from monmdp.training.job import recording_points


def fraction_solved(folder: Path | str, identities: set[str]) -> dict[str, tuple[int, int]]:
    """Cell → (seeds solved, seeds there), for the given cells."""
    solved: dict[str, dict[int, bool]] = {}
    for path in Store(folder).files("tables"):
        if path.stem.partition("-")[0] in identities:
            entry, rows = read_table(path, ["seed", "solved"])
            pairs = zip(rows.column("seed").to_pylist(), rows.column("solved").to_pylist(), strict=True)
            solved.setdefault(entry.identity, {}).update(pairs)
    return {identity: (sum(solved[identity].values()), len(solved[identity])) for identity in solved}


def mean_curves(folder: Path | str) -> dict[str, dict[str, np.ndarray]]:
    """Cell → its steps [point] and, over seeds, mean and standard error of the return [point].

    Reads the return column only; files hold their seeds one after the other, so no row is looked at twice.
    """
    seen: dict[str, set[int]] = {}
    returns: dict[str, list[np.ndarray]] = {}
    steps: dict[str, np.ndarray] = {}
    for path in Store(folder).files():
        entry, table = read_table(path, ["return"])
        rows = table.column("return").to_numpy().reshape(len(entry.seeds), -1)
        known = seen.setdefault(entry.identity, set())
        fresh = [i for i, seed in enumerate(entry.seeds) if seed not in known]
        known.update(entry.seeds)
        returns.setdefault(entry.identity, []).append(rows[fresh])
        if entry.identity not in steps:
            steps[entry.identity] = recording_points(entry.settings["steps"], entry.settings["points"])
    curves = {}
    for identity, parts in returns.items():
        every = np.concatenate(parts)
        error = every.std(0, ddof=1) / np.sqrt(len(every)) if len(every) > 1 else np.full(every.shape[1], np.nan)
        curves[identity] = {"steps": steps[identity], "mean": every.mean(0), "standard_error": error}
    return curves
