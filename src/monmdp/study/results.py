"""A results folder as its readers see it: `load`, `mean_curves`, figures, claims, the page and exports.

Only small summaries are kept in memory; curves are read from disk on demand.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import fcntl
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.environments import ENVIRONMENTS
from monmdp.errors import MonMDPError
from monmdp.exact.solve import policy_gain, policy_return, solve
from monmdp.join import make
from monmdp.machine import n_cores
from monmdp.monitors import MONITORS
from monmdp.problem import Booleans, Floats, Integers, MonMDP
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS
from monmdp.protocol import kind as class_name
from monmdp.registry import Registry, differing_options, parse_spec, short_labels
from monmdp.study.store import (
    KINDS,
    LABELS,
    DamagedFileError,
    Entry,
    Store,
    column_types,
    read_entry,
    read_runs,
    write_parquet,
)
from monmdp.training.curves import SOLVED_WITHIN, at_points, half_width, solved_points
from monmdp.training.job import recording_points

if TYPE_CHECKING:
    import pyarrow as pa

#: How often a folder is read when files disappear meanwhile.
ATTEMPTS = 5
#: Settings by which cells of the same names may differ, in the order in which a label lists them.
_DISTINGUISHING = (
    "steps",
    "points",
    "discount",
    "evaluation",
    "agent_options",
    "agent_code",
    "problem",
    "trajectories",
)


@dataclass(frozen=True, eq=False)
class CellResults:
    """All runs of one agent in one problem with the same settings.

    agent: a label, the agent's name followed by settings if these alone distinguish it from another cell.
    """

    identity: str
    environment: str
    monitor: str
    agent: str
    settings: dict[str, Any]
    files: dict[str, list[Entry]]

    @property
    def problem_name(self) -> str:
        """Environment and monitor with their options."""
        return f"{self.environment} + {self.monitor}"

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds with both curves and tables, in increasing order."""
        curves, tables = ({seed for entry in self.files[kind] for seed in entry.seeds} for kind in KINDS)
        return sorted(curves & tables)

    @cached_property
    def steps(self) -> Integers:
        """Training steps of the recording points, [point]."""
        return recording_points(self.settings["steps"], self.settings["points"])

    def rows(self, kind: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of all runs from files of a kind, in the order of `seeds`."""
        return read_runs(self.files[kind], self.seeds, columns)

    def curves(self, columns: Sequence[str]) -> dict[str, np.ndarray]:
        """Column of a metric → values [seed, point], in the order of `seeds`."""
        table = self.rows("curves", columns)
        return {name: table.column(name).to_numpy().reshape(len(self.seeds), -1) for name in columns}

    def curve(self, column: str) -> np.ndarray:
        """One metric, [seed, point]."""
        return self.curves([column])[column]

    def finals(self, columns: Sequence[str]) -> dict[str, np.ndarray]:
        """Column → values [seed] or, of final tables, [seed, entry]: target_return, solved, visit_counts, …"""
        table = self.rows("tables", columns)
        try:
            return {name: np.array(table.column(name).to_pylist()) for name in columns}
        except ValueError:
            raise MonMDPError(f"The tables of {self.agent} in {self.problem_name} have different sizes.") from None

    def final_table(self, column: str, seed: int) -> np.ndarray:
        """visit_counts or q of one seed, [S, A]; needs a problem that can be rebuilt from its names."""
        if self.problem is None:
            raise MonMDPError(f"{self.problem_name} cannot be built again from its name.")
        table = self.finals([column])[column][self.seeds.index(seed)]
        shape = (self.problem.n_states, self.problem.n_actions)
        if table.size != shape[0] * shape[1]:
            raise MonMDPError(f"The tables {column!r} of {self.agent} in {self.problem_name} have the wrong size.")
        return np.array(table.reshape(shape))

    @cached_property
    def _returns(self) -> dict[str, np.ndarray]:
        return self.finals(["final_return", "target_return", "optimal_return", "solved"])

    @property
    def final_returns(self) -> Floats:
        """Return of the last greedy policy, [seed]."""
        return self._returns["final_return"]

    @property
    def final_return_ci(self) -> float:
        """Half width of the 95% confidence interval of the mean final return; see `Curves`."""
        return float(half_width(self.final_returns))

    @property
    def target_return(self) -> float:
        """The return that can be learned; see `Curves`."""
        return float(self._returns["target_return"][0])

    @property
    def optimal_return(self) -> float:
        """The return of the optimal policy."""
        return float(self._returns["optimal_return"][0])

    @property
    def compared(self) -> bool:
        """Whether final returns are known, and the one that can be learned."""
        return bool(np.isfinite(self.final_returns).all() and np.isfinite(self.target_return))

    @property
    def solved(self) -> Booleans:
        """Whether each seed ended with the target return, [seed]."""
        return np.asarray(self._returns["solved"])

    @cached_property
    def _solved_points(self) -> Integers:
        scale = 1.0 if self.problem is None else self.problem.scale
        return solved_points(self.curve("return"), self.target_return - SOLVED_WITHIN * scale)

    @property
    def steps_until_solved(self) -> Floats:
        """The recorded step from which each seed stays solved, infinite if it does not end solved, [seed]."""
        return np.append(self.steps, np.inf)[self._solved_points]

    @cached_property
    def observed_until_solved(self) -> Floats:
        """Rewards observed until each seed stays solved, infinite if it does not end solved, [seed]."""
        return at_points(self.curve("observed"), self._solved_points)

    @cached_property
    def paid_until_solved(self) -> Floats:
        """Monitor reward paid until each seed stays solved, infinite if it does not end solved; NaN in old files."""
        return at_points(self.curve("paid"), self._solved_points)

    @cached_property
    def problem(self) -> MonMDP | None:
        """The problem rebuilt from its names; None if that does not give the same problem.

        The names may come from someone else's folder; they import only what is installed.
        """
        try:
            made = make(self.environment, self.monitor, discount=self.settings["discount"])
        except MonMDPError:
            return None
        return made if made.digest == self.settings["problem"] else None

    @cached_property
    def random_return(self) -> float:
        """The return of acting uniformly at random within the step limit; NaN if the problem cannot be rebuilt."""
        if self.problem is None:
            return float("nan")
        shape = (self.problem.n_states, self.problem.n_actions)
        return policy_return(self.problem, np.full(shape, 1.0 / self.problem.n_actions))

    @cached_property
    def best_gain(self) -> float:
        """The expected reward per training step of the policy that can be learned; NaN if there is no problem."""
        return float("nan") if self.problem is None else policy_gain(self.problem, solve(self.problem).minimax_policy)


class Results:
    """The cells of a folder; environments, monitors and agents in the paper's order and then by name.

    files: identity → kind → files. damage: damaged or foreign file → message; these files are left out.
    required: raise an error if there are no runs.
    """

    def __init__(self, folder: Path | str, required: bool = True) -> None:
        self.folder = check.path(folder, "The results folder")
        self.damage: dict[Path, str] = {}
        self.files: dict[str, dict[str, list[Entry]]] = {}
        settings: dict[str, dict[str, Any]] = {}
        store = Store(folder)  # checks that the folder has results in this format
        for kind, path, entry in _entries(store):
            if isinstance(entry, DamagedFileError):
                self.damage[path] = str(entry)
            else:
                settings[entry.identity] = entry.settings
                self.files.setdefault(entry.identity, {kind: [] for kind in KINDS})[kind].append(entry)
        labels = _agent_labels(settings)
        self.cells: dict[tuple[str, str, str], CellResults] = {}
        for key, values in settings.items():
            names = values["environment"], values["monitor"], labels[key]
            cell = CellResults(key, *names, values, self.files[key])
            if cell.seeds:
                self.cells[names] = cell
        if required and not self.cells:
            raise MonMDPError(f"{self.folder} has no results yet; monmdp reproduce --out {self.folder} makes some.")
        self._index()

    def _index(self) -> None:
        names: tuple[Iterable[str], ...] = tuple(zip(*self.cells, strict=True)) or ((), (), ())
        orders = (DEFAULT_STEPS, PAPER_MONITORS, PAPER_AGENTS)
        self.environments, self.monitors, self.agents = map(_ordered, names, orders)

    def only(self, agents: Sequence[str]) -> Results:
        """The same folder with some agents: names or labels, in upper or lower case, or classes for all variants."""
        chosen: set[str] = set()
        for given in agents:
            text = given.casefold()
            matches = [a for a in self.agents if text in (a.casefold(), self.labels[a].casefold())]
            matches = matches or [agent for agent in self.agents if class_name(agent).casefold() == text]
            chosen.update(matches or [self.agents[check.find(given, self.agents, "agent", "The folder")]])
        narrowed = copy.copy(self)
        for derived in ("problems", "labels", "options"):
            narrowed.__dict__.pop(derived, None)
        narrowed.cells = {names: cell for names, cell in self.cells.items() if names[2] in chosen}
        narrowed._index()
        return narrowed

    @cached_property
    def labels(self) -> dict[str, str]:
        """Name of an environment, monitor or agent → the same with only those options that differ in this folder."""
        kinds = (self.environments, self.monitors, self.agents)
        return {n: label for names in kinds for n, label in zip(names, short_labels(names), strict=True)}

    @cached_property
    def options(self) -> dict[str, dict[str, Any]]:
        """Option in which variants of an agent, environment or monitor differ → identity of a cell → its value.

        The value is the resolved one, None in cells without the option. An option that two of the three have, or that
        is also a column of the results, has a prefix, as in `monitor_cost`.
        """
        columns: dict[tuple[str, str], dict[str, Any]] = {}
        for label in LABELS:
            specs = {cell.identity: cell.settings[label] for cell in self.cells.values()}
            values = {spec: _spec_options(label, spec) for spec in set(specs.values())}
            for option in sorted(set().union(*differing_options(specs.values()).values())):
                columns[label, option] = {key: values[spec].get(option) for key, spec in specs.items()}
        for cell in self.cells.values():
            resolved = cell.settings.get("agent_options", {})
            for (label, option), of_cells in columns.items():
                if label == "agent" and option in resolved:
                    of_cells[cell.identity] = _as_value(resolved[option])
        names = [option for _, option in columns]
        taken = {name for name in names if names.count(name) > 1}.union(*map(column_types, KINDS))
        return {f"{label}_{option}" if option in taken else option: v for (label, option), v in columns.items()}

    @property
    def damaged(self) -> list[str]:
        """One message per damaged file."""
        return list(self.damage.values())

    @cached_property
    def problems(self) -> list[tuple[str, str]]:
        """(environment, monitor) of every problem with any runs, in order."""
        known = {(environment, monitor) for environment, monitor, _ in self.cells}
        return [(e, m) for e in self.environments for m in self.monitors if (e, m) in known]

    def cell(self, environment: str, monitor: str, agent: str) -> CellResults | None:
        """The runs of an agent in a problem, or None."""
        return self.cells.get((environment, monitor, agent))

    def of_problem(self, environment: str, monitor: str) -> list[CellResults]:
        """The cells of a problem, in the order of the agents."""
        cells = (self.cell(environment, monitor, agent) for agent in self.agents)
        return [cell for cell in cells if cell is not None]

    def of_agent(self, agent: str) -> list[CellResults]:
        """The cells of an agent, in the order of the problems."""
        cells = (self.cell(environment, monitor, agent) for environment, monitor in self.problems)
        return [cell for cell in cells if cell is not None]


def _entries(store: Store) -> list[tuple[str, Path, Entry | DamagedFileError]]:
    """The kind, path and description of every file; read again while another process merges files."""

    def read(path: Path) -> tuple[str, Path, Entry | DamagedFileError]:
        kind = path.relative_to(store.folder).parts[0]
        try:
            return kind, path, read_entry(path, kind)
        except DamagedFileError as damage:
            return kind, path, damage

    with ThreadPoolExecutor(n_cores()) as pool:
        for _ in range(ATTEMPTS):
            entries = list(pool.map(read, store.files(".parquet")))
            if all(os.path.lexists(path) for _, path, entry in entries if isinstance(entry, DamagedFileError)):
                return entries
    raise MonMDPError(f"The files of {store.folder} change all the time; wait until other processes have ended.")


def load(folder: Path | str, columns: Sequence[str] | None = None, kind: str = "curves") -> pa.Table:
    """All results of a folder as one Arrow table (`.to_pandas()`, `polars.from_arrow`).

    curves: one row per run and point: environment, monitor, agent, cell, seed, step, and the metrics return, observed,
    visited, beta, explored, paid, collected (null where an earlier version did not record it); and one column per
    option in which variants differ, such as alpha (`Results.options`). kind="tables": one row per run with final
    tables. Damaged files are named in a warning and left out; a run in two files counts once.
    """
    import pyarrow as pa

    if kind not in KINDS:
        raise MonMDPError(f"Results are {' or '.join(KINDS)}, not {kind!r}.")
    results = Results(folder)
    for message in results.damaged:
        warnings.warn(message, stacklevel=2)
    options = {name: values for name, values in results.options.items() if columns is None or name in columns}
    stored = None if columns is None else [name for name in columns if name not in options]
    types = {name: _arrow_type(values.values()) for name, values in options.items()}
    tables = []
    for cell in results.cells.values():
        rows = cell.rows(kind, stored if stored != [] else ["seed"])
        for name, values in options.items():
            value = values[cell.identity]
            value = str(value) if value is not None and pa.types.is_string(types[name]) else value
            rows = rows.append_column(name, pa.repeat(pa.scalar(value, types[name]), len(rows)))
        tables.append(rows if columns is None else rows.select(columns))
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()


def _arrow_type(values: Iterable[Any]) -> pa.DataType:
    """The type of a column of options: that of the values if they are of one type, else text."""
    import pyarrow as pa

    try:
        return pa.array(list(values)).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


def mean_curves(folder: Path | str) -> dict[str, dict[str, np.ndarray]]:
    """Cell → its steps [point] and the mean and standard error of the return over seeds [point]."""
    curves = {}
    for cell in Results(folder).cells.values():
        returns = cell.curve("return")
        n_seeds = len(returns)
        error = returns.std(0, ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.full(returns.shape[1], np.nan)
        curves[cell.identity] = {"steps": cell.steps, "mean": returns.mean(0), "standard_error": error}
    return curves


def compact(folder: Path | str) -> tuple[int, int]:
    """Merge the files of every cell; returns the number of files before and after.

    The merged file is on disk before the first of its parts is removed; a run that is in two files for a moment
    counts once. Damaged files are left alone.
    """
    with _alone(Store(folder)):
        results = Results(folder, required=False)
        before = after = len(results.damage)
        for files in results.files.values():
            for kind, entries in files.items():
                before += len(entries)
                after += bool(entries)
                if len(entries) > 1:
                    _merge(kind, entries)
    return before, after


def _merge(kind: str, entries: list[Entry]) -> None:
    """Write the runs of some files of one cell into one, and remove the others."""
    seeds = sorted({seed for entry in entries for seed in entry.seeds})
    runs, place = read_runs(entries, seeds).combine_chunks(), entries[0].path.parent
    merged = write_parquet(place, runs, kind, entries[0].settings, seeds)
    for path in {entry.path for entry in entries} - {merged}:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise MonMDPError(f"{path} cannot be removed: {error.strerror}; its runs count once.") from None


@contextlib.contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Raise an error if another process merges the files of this folder now; nothing where locks do not exist."""
    with store.format_file.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                raise MonMDPError(f"Another process merges the files of {store.folder}; wait until it ends.") from None
        yield


def _ordered(names: Iterable[str], first: Iterable[str]) -> list[str]:
    """Names in the order of their classes, known ones first; variants of a class by name, numbers in them by size."""
    known = {name: i for i, name in enumerate(first)}

    def key(name: str) -> tuple[int, str, list[tuple[float, str]]]:
        parts = re.split(r"(-?\d+\.?\d*(?:e[-+]?\d+)?)", name)
        return (
            known.get(class_name(name), len(known)),
            class_name(name),
            [(float(part), "") if i % 2 else (0.0, part) for i, part in enumerate(parts)],
        )

    return sorted(set(names), key=key)


def _spec_options(label: str, spec: str) -> dict[str, Any]:
    """All options of an environment or monitor, or those in its spec where its class is not installed or an agent."""
    registries: dict[str, Registry[Any]] = {"environment": ENVIRONMENTS, "monitor": MONITORS}
    options: dict[str, Any] = {}
    with contextlib.suppress(MonMDPError):
        options = parse_spec(spec)[1]
        built = registries[label].build(spec) if label in registries else None
        options |= {} if built is None else vars(built)
    return {option: _as_value(value) for option, value in options.items()}


def _as_value(value: Any) -> Any:
    """The value of an option as a number or text, so that it can be a column; a tuple as in a spec."""
    if isinstance(value, list):
        value = tuple(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _agent_labels(settings: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Identity → the agent's name, with the settings that differ where cells share all three names."""
    sharing: dict[tuple[str, str, str], list[str]] = {}
    for key, values in settings.items():
        sharing.setdefault((values["environment"], values["monitor"], values["agent"]), []).append(key)
    labels = {}
    for (_, _, agent), keys in sharing.items():
        differing = [name for name in _DISTINGUISHING if len({str(settings[key].get(name)) for key in keys}) > 1]
        for key in keys:
            differences = [f"{name} {settings[key].get(name)}" for name in differing]
            labels[key] = f"{agent} [{', '.join(differences)}]" if differences else agent
    return labels
