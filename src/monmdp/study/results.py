"""A results folder as figures, claims and the page read it: cells by environment, monitor and agent.

Nothing is kept but small summaries; curves are read from disk when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.exact.solve import policy_return
from monmdp.join import make
from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_MONITORS
from monmdp.problem import Booleans, Floats, Integers, MonMDP
from monmdp.study.store import DamagedFileError, Entry, Store, read_entry, read_table
from monmdp.study.sweep import PAPER_AGENTS
from monmdp.training.curves import SOLVED_WITHIN
from monmdp.training.job import recording_points

#: Settings by which cells of the same names may differ, in the order in which a label tells them.
_TELLING = ("steps", "points", "discount", "evaluation", "agent_options", "problem", "trajectories")


@dataclass(frozen=True, eq=False)
class CellResults:
    """All runs of one agent in one problem. `agent` is a label: the name, and what sets it apart if need be."""

    environment: str
    monitor: str
    agent: str
    settings: dict[str, Any]
    curve_files: tuple[Entry, ...]
    table_files: tuple[Entry, ...]

    @property
    def problem_name(self) -> str:
        """Environment and monitor with their options."""
        return f"{self.environment} + {self.monitor}"

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds with both curves and tables, in increasing order."""
        curves = {seed for entry in self.curve_files for seed in entry.seeds}
        return sorted(curves & {seed for entry in self.table_files for seed in entry.seeds})

    @cached_property
    def steps(self) -> Integers:
        """Training steps of the recording points, [point]."""
        return recording_points(self.settings["steps"], self.settings["points"])

    def curves(self, columns: Sequence[str]) -> dict[str, np.ndarray]:
        """Column → values [seed, point], in the order of `seeds`: return, observed, visited, beta, explored."""
        rows: dict[int, dict[str, np.ndarray]] = {}
        for entry in self.curve_files:
            _, table = read_table(entry.path, list(columns))
            blocks = {name: table.column(name).to_numpy().reshape(len(entry.seeds), -1) for name in columns}
            for i, seed in enumerate(entry.seeds):
                rows.setdefault(seed, {name: block[i] for name, block in blocks.items()})
        return {name: np.stack([rows[seed][name] for seed in self.seeds]) for name in columns}

    def curve(self, column: str) -> np.ndarray:
        """One column of the curves, [seed, point]."""
        return self.curves([column])[column]

    def finals(self, columns: Sequence[str]) -> dict[str, list[Any]]:
        """Column → one value a seed, in the order of `seeds`: target_return, final_return, solved, visit_counts, …"""
        rows: dict[int, dict[str, Any]] = {}
        for entry in self.table_files:
            _, table = read_table(entry.path, ["seed", *columns])
            for row in table.to_pylist():
                rows.setdefault(row["seed"], row)
        return {name: [rows[seed][name] for seed in self.seeds] for name in columns}

    def final_table(self, column: str, seed: int) -> np.ndarray:
        """visit_counts or q of one seed, [S, A]; needs a problem that can be built again from its names."""
        if self.problem is None:
            raise MonMDPError(f"{self.problem_name} cannot be built again from its name.")
        listed = self.finals([column])[column][self.seeds.index(seed)]
        values = np.array([np.nan if value is None else value for value in listed])
        return values.reshape(self.problem.n_states, self.problem.n_actions)

    @cached_property
    def _outcome(self) -> tuple[Floats, float]:
        found = self.finals(["final_return", "target_return"])
        return np.array(found["final_return"], np.float64), float(found["target_return"][0])

    @property
    def final_returns(self) -> Floats:
        """Return of the last greedy policy, [seed]."""
        return self._outcome[0]

    @property
    def target_return(self) -> float:
        """The optimal return or, where some rewards can never be seen, what the minimax policy earns; see `Curves`."""
        return self._outcome[1]

    @property
    def solved(self) -> Booleans:
        """Which seeds ended earning the target return, [seed]."""
        return np.asarray(self.final_returns >= self.target_return - SOLVED_WITHIN)

    @cached_property
    def problem(self) -> MonMDP | None:
        """The problem built again from its names; None if that does not give the same problem."""
        try:
            made = make(self.environment, self.monitor, discount=self.settings["discount"])
        except MonMDPError:
            return None
        return made if made.digest == self.settings["problem"] else None

    @cached_property
    def random_return(self) -> float:
        """What acting uniformly at random earns within the step limit; NaN where the problem cannot be built."""
        if self.problem is None:
            return float("nan")
        shape = (self.problem.n_states, self.problem.n_actions)
        return policy_return(self.problem, np.full(shape, 1.0 / self.problem.n_actions))


class Results:
    """The cells of a folder, in the paper's order and then by name; damaged files are listed and left out."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.damaged: list[str] = []
        self.cells: dict[tuple[str, str, str], CellResults] = {}
        for cell in self._read(Store(folder)):
            if cell.seeds:
                self.cells[cell.environment, cell.monitor, cell.agent] = cell
        if not self.cells:
            raise MonMDPError(f"{self.folder} has no results yet; monmdp reproduce --out {self.folder} makes some.")
        environments, monitors, agents = zip(*self.cells, strict=True)
        self.environments = _ordered(environments, DEFAULT_STEPS)
        self.monitors = _ordered(monitors, PAPER_MONITORS)
        self.agents = _ordered(agents, PAPER_AGENTS)

    def _read(self, store: Store) -> Iterator[CellResults]:
        files: dict[str, dict[str, list[Entry]]] = {"curves": {}, "tables": {}}
        settings: dict[str, dict[str, Any]] = {}
        for kind, found in files.items():
            for path in store.files(kind):
                try:
                    entry = read_entry(path)
                except DamagedFileError as damage:
                    self.damaged.append(str(damage))
                    continue
                settings[entry.identity] = entry.settings
                found.setdefault(entry.identity, []).append(entry)
        labels = _labels(settings)
        for identity, told in settings.items():
            yield CellResults(
                environment=told["environment"],
                monitor=told["monitor"],
                agent=labels[identity],
                settings=told,
                curve_files=tuple(files["curves"].get(identity, ())),
                table_files=tuple(files["tables"].get(identity, ())),
            )

    @cached_property
    def problems(self) -> list[tuple[str, str]]:
        """(environment, monitor) of every problem with any runs, in order."""
        there = {(environment, monitor) for environment, monitor, _ in self.cells}
        return [(e, m) for e in self.environments for m in self.monitors if (e, m) in there]

    def cell(self, environment: str, monitor: str, agent: str) -> CellResults | None:
        """The runs of an agent in a problem, or None."""
        return self.cells.get((environment, monitor, agent))

    def of_problem(self, environment: str, monitor: str) -> list[CellResults]:
        """The cells of a problem, in the order of the agents."""
        found = (self.cell(environment, monitor, agent) for agent in self.agents)
        return [cell for cell in found if cell is not None]

    def of_agent(self, agent: str) -> list[CellResults]:
        """The cells of an agent, in the order of the problems."""
        found = (self.cell(environment, monitor, agent) for environment, monitor in self.problems)
        return [cell for cell in found if cell is not None]


def _ordered(names: Iterable[str], first: Iterable[str]) -> list[str]:
    """Known names in their own order, then all others by name."""
    there = set(names)
    known = [name for name in first if name in there]
    return known + sorted(there - set(known))


def _labels(settings: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Cell → its agent's name, with the settings that differ where cells share all three names."""
    sharing: dict[tuple[str, str, str], list[str]] = {}
    for identity, told in settings.items():
        sharing.setdefault((told["environment"], told["monitor"], told["agent"]), []).append(identity)
    labels = {}
    for (_, _, agent), identities in sharing.items():
        differing = [key for key in _TELLING if len({str(settings[identity].get(key)) for identity in identities}) > 1]
        for identity in identities:
            apart = [f"{key} {settings[identity].get(key)}" for key in differing]
            labels[identity] = f"{agent} [{', '.join(apart)}]" if apart else agent
    return labels
