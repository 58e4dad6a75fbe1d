"""What is recorded at a recording point: one table, from which every reader and writer derives.

A new metric is a row of METRICS and the lines that count it in `count_step` and `record_point`. `Record`, `Curves`,
Parquet columns, CSV, exporters, figures and the page follow from the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


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
)
