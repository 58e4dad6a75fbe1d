"""What is recorded at a recording point: one table, from which every reader and writer derives.

A new metric is a row of METRICS and the lines that count it: in `Tally`, `count_step` and `record_point`. `Record`,
`Curves`, Parquet columns, CSV, exporters, figures and the page follow from the table.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp.kernels.compile import inlined
from monmdp.kernels.references import by_reference


@dataclass(frozen=True)
class Metric:
    """One recorded quantity, an array [point] per run.

    column: its name in result files and on the command line; attribute: its name in `Record` and `Curves`.
    label: a short axis label; better: which direction is better, if any. repeats: consecutive points often share one
    value, which a file stores as a dictionary.
    """

    column: str
    attribute: str
    dtype: type[np.float64] | type[np.int64]
    label: str
    description: str
    better: Literal["higher", "lower"] | None = None
    repeats: bool = False


METRICS = (
    Metric(
        "return",
        "returns",
        np.float64,
        "return",
        "Discounted return of the greedy policy, environment plus monitor reward.",
        better="higher",
        repeats=True,
    ),
    Metric("observed", "observed", np.int64, "rewards observed", "Number of rewards observed so far."),
    Metric("visited", "visited", np.int64, "pairs visited", "Number of distinct state-action pairs visited so far."),
    Metric("beta", "beta", np.float64, "β", "Explore-exploit ratio of the agent; NaN where it has none."),
    Metric("explored", "explored", np.float64, "exploring", "Fraction of the steps so far that explored."),
    Metric(
        "paid",
        "paid",
        np.float64,
        "paid to the monitor",
        "Monitor reward paid so far: the sum over all steps, a cost counted as positive.",
        better="lower",
    ),
    Metric(
        "collected",
        "collected",
        np.float64,
        "reward collected",
        "True reward of all training steps so far, environment plus monitor, observed or not.",
        better="higher",
    ),
)


class Tally(NamedTuple):
    """What has been counted since the first step of a run."""

    observed: int = 0
    visited: int = 0
    exploring: int = 0
    env_reward: float = 0.0
    monitor_reward: float = 0.0


@inlined
def count_step(tally, transition, env_reward, observed, first_visit, exploring):
    """The tally after one more step: its true reward, was it observed, was the pair new, did the agent explore?"""
    return Tally(
        tally.observed + observed, tally.visited + first_visit, tally.exploring + exploring,
        tally.env_reward + env_reward, tally.monitor_reward + transition.monitor_reward,
    )  # fmt: skip


#: One array [point] per metric.
Record: Any = by_reference(NamedTuple("Record", [(metric.attribute, np.ndarray) for metric in METRICS]))
Record.__module__ = __name__  # the kernel cache looks the class up by its module


def new_record(points: int) -> Any:
    """An empty record: zero at points that were not reached yet."""
    return Record(*(np.zeros(points, metric.dtype) for metric in METRICS))


@inlined
def record_point(record, point, step, tally, beta, value):
    """Write one recording point: the agent's β, the return of its greedy policy, and what was counted."""
    record.returns[point] = value
    record.observed[point] = tally.observed
    record.visited[point] = tally.visited
    record.beta[point] = beta
    record.explored[point] = tally.exploring / max(step, 1)
    record.paid[point] = 0.0 - tally.monitor_reward
    record.collected[point] = tally.env_reward + tally.monitor_reward
