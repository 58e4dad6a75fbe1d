"""The result of training: curves over recording points, and the final tables."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError, plural
from monmdp.files import write_atomically
from monmdp.join import make
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.tables import csv_text
from monmdp.training.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from monmdp.deep.policy import Policy

#: A run is solved when its greedy return is at most this, times the scale of the problem, below the target.
SOLVED_WITHIN = 1e-6


def half_width(values: Floats, level: float = 0.95) -> Floats:
    """Half of Student's confidence interval of a mean along axis 0: t · s / √runs; NaN for a single run."""
    from scipy.special import stdtrit

    runs = len(values)
    if runs == 1:
        return np.full(values.shape[1:], np.nan)
    width: Floats = stdtrit(runs - 1, (1.0 + level) / 2.0) * values.std(0, ddof=1) / np.sqrt(runs)
    return width


def solved_points(returns: Floats, least: float) -> Integers:
    """The first point from which on returns [seed, point] stay at or above `least`; the number of points if none."""
    unsolved = ~(returns >= least)  # also if one of them is unknown
    points_after = np.argmax(unsolved[:, ::-1], axis=1)
    return np.where(unsolved.any(1), returns.shape[1] - points_after, 0)


def at_points(values: np.ndarray, points: Integers) -> Floats:
    """Values [seed, point] at one point of each seed [seed], infinite after the last point."""
    runs = np.arange(len(points))
    return np.column_stack([values, np.full(len(runs), np.inf)])[runs, points]


#: Formats of `Curves.save`.
FORMATS = (".csv", ".npz")


class Recorded:
    """Metrics [seed, point] of some runs, as attributes, and what follows from them: `Curves` or `LiveCurves`."""

    agent: str
    seeds: list[int]
    steps: Integers
    recorded: Mapping[str, np.ndarray]
    environment: Any
    monitor: Any
    optimal_return: float
    target_return: float
    settings: Any
    policies: list[Any]

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("__") or name == "recorded" or name not in self.recorded:
            raise AttributeError(f"{type(self).__name__} have no attribute {name!r}.")
        return self.recorded[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.recorded})

    @property
    def problem_name(self) -> str:
        """Environment and monitor with their options."""
        return f"{self.environment} + {self.monitor}"

    def curve(self, column: str) -> np.ndarray:
        """The metric with this column of result files, [seed, point]: `curve("return")` is `returns`."""
        return self.recorded[next(metric.attribute for metric in METRICS if metric.column == column)]

    @property
    def final_returns(self) -> Floats:
        """Return of the last greedy policy of each seed, [seed]."""
        last: Floats = self.returns[:, -1]
        return last

    @property
    def final_return(self) -> float:
        """Mean final return over the seeds."""
        return float(self.final_returns.mean())

    @property
    def final_return_ci(self) -> float:
        """Half width of Student's 95% confidence interval of the mean final return; NaN for a single seed."""
        return float(half_width(self.final_returns))

    def columns(self) -> dict[str, Any]:
        """One value per seed and point: environment, monitor, agent, seed, step and every metric."""
        n_seeds, n_points = len(self.seeds), len(self.steps)
        labels = {name: getattr(self, name) for name in ("environment", "monitor", "agent")}
        rows: dict[str, Any] = {name: [label] * (n_seeds * n_points) for name, label in labels.items()}
        rows |= {"seed": np.repeat(self.seeds, n_points), "step": np.tile(self.steps, n_seeds)}
        return rows | {metric.column: self.recorded[metric.attribute].ravel() for metric in METRICS}

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with one row per seed and point; see `columns`."""
        try:
            import pandas as pd
        except ImportError:
            raise MonMDPError("pandas is not installed; install it with: pip install pandas.") from None
        return pd.DataFrame(self.columns())

    def policy(self, seed: int | None = None) -> Policy:
        """The trained network of an agent with networks, which acts and can be saved; seed: by default the first.

        Only `monmdp.train` and `train_live` keep it; files of curves and results folders do not have it.
        """
        policy: Policy | None = self.policies[self._row(seed)] if self.policies else None
        if policy is None:
            raise MonMDPError(
                "These curves have no networks: monmdp.train keeps those of agents with networks, such as "
                "DeepDirected; for others, curves.q has the action values."
            )
        return policy

    def _row(self, seed: int | None) -> int:
        """The row of a seed, by default the first."""
        if seed is not None and seed not in self.seeds:
            raise MonMDPError(f"Seed {seed} was not run; these curves have the seeds {self.seeds}.")
        return 0 if seed is None else self.seeds.index(seed)


@dataclass(frozen=True, eq=False)
class Curves(Recorded):
    """Runs of one agent in one problem, recorded before the training steps `steps` [point] and once at the end.

    Every metric of `monmdp.training.metrics.METRICS` is an attribute, an array [seed, point]: returns, observed,
    visited, beta, explored, paid, collected; NaN where the version that trained did not record it. Final tables:
    visit_counts and q [seed, S, A], reward_model [seed, environment pairs]; states that cannot be reached have count 0
    and value NaN. target_return is the return that can be learned: the optimal one or, if some rewards can never be
    observed, that of the minimax policy.
    remarks [seed]: reports of the agent, such as which reward was given up and why.
    settings: everything the numbers depend on. policies [seed]: those of agents with networks, else None.
    """

    problem: MonMDP
    agent: str
    seeds: list[int]
    steps: Integers
    recorded: Mapping[str, np.ndarray]
    visit_counts: Integers
    q: Floats
    reward_model: Floats
    optimal_return: float
    target_return: float
    evaluation: str
    seconds: float
    remarks: list[list[str]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    policies: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        unknown = np.full((len(self.seeds), len(self.steps)), np.nan)
        known = {metric.attribute: self.recorded.get(metric.attribute, unknown) for metric in METRICS}
        object.__setattr__(self, "recorded", known)

    @property
    def environment(self) -> str:
        """The environment with its options."""
        return self.problem.environment.name

    @property
    def monitor(self) -> str:
        """The monitor with its options."""
        return self.problem.monitor.name

    @property
    def solved(self) -> np.ndarray:
        """Whether each seed ended with the target return, [seed]."""
        return self.final_returns >= self._least_solved

    @property
    def _least_solved(self) -> float:
        return self.target_return - SOLVED_WITHIN * self.problem.scale

    @property
    def steps_until_solved(self) -> Floats:
        """The recorded step from which each seed stays solved, infinite if it does not end solved, [seed]."""
        return np.append(self.steps, np.inf)[solved_points(self.returns, self._least_solved)]

    @property
    def observed_until_solved(self) -> Floats:
        """Rewards observed until each seed stays solved, infinite if it does not end solved, [seed]."""
        return at_points(self.observed, solved_points(self.returns, self._least_solved))

    @property
    def paid_until_solved(self) -> Floats:
        """Monitor reward paid until each seed stays solved, infinite if it does not end solved, [seed]."""
        return at_points(self.paid, solved_points(self.returns, self._least_solved))

    def summary(self) -> dict[str, object]:
        """The result as plain values; NaN as None."""
        final, half_width = float(self.final_returns.mean()), self.final_return_ci
        unknown = bool(np.isnan(final))
        return {
            "environment": self.environment,
            "monitor": self.monitor,
            "agent": self.agent,
            "seeds": len(self.seeds),
            "steps": int(self.steps[-1]),
            "optimal_return": self.optimal_return,
            "final_return": None if unknown else final,
            "final_return_ci": None if np.isnan(half_width) else half_width,
            "solved": None if unknown else float(self.solved.mean()),
            "observed": float(self.observed[:, -1].mean()),
            "paid": _known(self.paid[:, -1].mean()),
            "collected": _known(self.collected[:, -1].mean()),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        summary, seeds, steps = self.summary(), plural(len(self.seeds), "seed"), plural(int(self.steps[-1]), "step")
        outcome = "not evaluated"
        if summary["final_return"] is not None:
            width = "" if summary["final_return_ci"] is None else f" ± {summary['final_return_ci']:.4f}"
            outcome = f"final return {summary['final_return']:.4f}{width} of {self.target_return:.4f}, "
            outcome += f"solved {summary['solved']:.0%}"
        return (
            f"Curves({self.agent} in {self.problem.name}, {seeds} × {steps}: "
            f"{outcome}, {summary['observed']:.0f} rewards observed, {self.seconds:.1f} s)"
        )

    def _repr_html_(self) -> str:
        """A small picture of the mean return, for notebooks."""
        sink = io.BytesIO()
        self.plot(size=(4.5, 2.6)).savefig(sink, format="png", dpi=110)
        image = base64.b64encode(sink.getvalue()).decode()
        return f'<p>{html.escape(repr(self))}</p><img alt="learning curve" src="data:image/png;base64,{image}">'

    def plot(self, metric: str = "return", **options: Any) -> Figure:
        """Draw a metric over training steps, the mean over seeds with its interval; options: those of `monmdp.plot`."""
        from monmdp import plot

        return plot(self, metric, **options)

    def heatmap(self, values: str = "visits", seed: int | None = None, **options: Any) -> Figure:
        """Draw visits or values (the largest Q of each state) on the grid, with the greedy actions as arrows.

        seed: one of `seeds`, by default the mean over all of them. options: those of `monmdp.heatmap`.
        """
        from monmdp import heatmap

        tables = {"visits": self.visit_counts.sum(2), "values": self.q.max(2)}
        if values not in tables:
            raise MonMDPError(f"A heat map shows {' or '.join(tables)}, not {values!r}.")
        runs = slice(None) if seed is None else [self._row(seed)]
        label = {"visits": "visits per state", "values": "value of the greedy action"}[values]
        title = f"{self.agent}, " + (f"seed {seed}" if seed is not None else f"mean of {len(self.seeds)} seeds")
        given = {"label": label, "title": title, "log": values == "visits", "greedy": self.q[runs].mean(0)} | options
        return heatmap(self.problem, tables[values][runs].mean(0), **given)

    def save(self, path: Path | str) -> None:
        """Write all but networks as .npz, which `load` reads, or the curves as .csv, one row per seed and point."""
        write_atomically(Path(path), self.file_content(Path(path).suffix))

    def file_content(self, suffix: str) -> bytes:
        """The bytes of a file with this suffix; see `save`."""
        if suffix == ".csv":
            columns = self.columns()
            rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
            return csv_text(list(columns), rows).encode()
        if suffix != ".npz":
            raise MonMDPError(f"Curves are saved as {' or '.join(FORMATS)}, not {suffix!r}.")
        plain = {name: getattr(self, name) for name in _PLAIN}
        summary = json.dumps({**self.summary(), "digest": self.problem.digest})
        arrays: dict[str, Any] = {**self.recorded, **{name: getattr(self, name) for name in (*_ARRAYS, "seeds")}}
        plain["discount"] = self.problem.discount
        sink = io.BytesIO()
        np.savez_compressed(sink, summary=summary, plain=json.dumps(plain), **arrays)
        return sink.getvalue()

    @classmethod
    def load(cls, path: Path | str, problem: MonMDP | None = None) -> Curves:
        """Read a file that `save` wrote as .npz.

        problem: needed where it cannot be built again from the names of its environment and monitor.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
                arrays = dict(content)
            summary, plain = (json.loads(str(arrays.pop(name))) for name in ("summary", "plain"))
            recorded = {metric.attribute: arrays[metric.attribute] for metric in METRICS if metric.attribute in arrays}
            recorded["returns"], recorded["observed"]  # others may be missing in files of earlier versions
        except FileNotFoundError:
            raise MonMDPError(f"There is no file {path}.") from None
        except Exception as error:
            raise MonMDPError(f"{path} is not a file of curves: {error}.") from None
        if problem is None:
            problem = make(summary["environment"], summary["monitor"], discount=plain["discount"])
        if problem.digest != summary["digest"]:
            raise MonMDPError(f"{path} is about another problem than {problem.name}; pass its own as problem=.")
        plain.pop("discount")
        return cls(problem=problem, recorded=recorded, **plain, **{name: arrays[name] for name in _ARRAYS})


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


_ARRAYS = ("steps", "visit_counts", "q", "reward_model")
_PLAIN = [field.name for field in fields(Curves) if field.name not in (*_ARRAYS, "problem", "recorded", "policies")]
