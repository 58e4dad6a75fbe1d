"""The protocol as tables: what the presets multiply to, worked by hand from the paper's tables."""

from __future__ import annotations

import pytest

import monmdp
from monmdp.study.cells import Cell
from monmdp.study.plan import wanted
from monmdp.study.sweep import PRESETS, preset

STEPS = {
    "Empty": 5_000, "Loop": 5_000, "Hazard": 10_000, "OneWay": 10_000, "Corridor": 30_000, "TwoRoom2x11": 5_000,
    "TwoRoom3x5": 10_000, "RiverSwim": 20_000,
}  # fmt: skip
FACTORS = {"Full": 1, "Random": 1, "Ask": 3, "Button": 2, "Experts": 10, "Level": 20}
AGENTS = {"Directed", "Optimism", "UCB", "QCounts", "Intrinsic", "Naive"}


def bare(name: str) -> str:
    return name.split("(")[0]


def test_the_paper():
    """8 × 6 problems, 6 agents, 100 seeds; (95,000 steps × 37 factors) × 6 × 100."""
    wishes = wanted(preset("paper"))
    names = {(cell.settings["environment"], cell.settings["monitor"], cell.settings["agent"]) for cell, _ in wishes}
    assert names == {(e, m, a) for e in STEPS for m in FACTORS for a in AGENTS}
    assert len(wishes) == len(names) == 288
    assert all(seeds == list(range(100)) for _, seeds in wishes)
    assert sum(len(seeds) for _, seeds in wishes) == 28_800
    assert sum(cell.job.steps * len(seeds) for cell, seeds in wishes) == 2_109_000_000
    for cell, _ in wishes:
        assert cell.settings["steps"] == STEPS[cell.settings["environment"]] * FACTORS[cell.settings["monitor"]]
        assert cell.settings["points"] == 1000
        assert cell.settings["evaluation"] == "exact"
        assert cell.settings["discount"] == 0.99


@pytest.mark.parametrize(
    ("name", "cells", "seeds"),
    [
        ("paper", 48 * 6, 100),
        ("quick", 24 * 6, 20),
        ("epsilon", 24 * 5 * 5, 20),
        ("pessimism", 48 * 4, 20),
        ("successors", 48 * 2, 20),
        ("observability", 48 * 6, 20),
        ("reward-noise", 48 * 6, 20),
    ],
)
def test_every_preset_resolves_into_distinct_cells_with_the_papers_budgets(name, cells, seeds):
    wishes = wanted(preset(name))
    assert len({cell.identity for cell, _ in wishes}) == len(wishes) == cells
    assert {len(chosen) for _, chosen in wishes} == {seeds}
    for cell, _ in wishes:
        environment, monitor = bare(cell.settings["environment"]), bare(cell.settings["monitor"])
        assert cell.settings["steps"] == STEPS[environment] * FACTORS[monitor]


def test_the_table_above_names_all_presets():
    others = {
        "tenth",
        "agents",
        "followup",
        "known-monitor",
        "unsolvable",
        "ablation",
    }  # their budgets are not the paper's
    assert set(PRESETS) - others == {
        "paper", "quick", "epsilon", "pessimism", "successors", "observability", "reward-noise",
    }  # fmt: skip


def test_quick_is_the_main_figure():
    problems = {cell.problem.name for cell, _ in wanted(preset("quick"))}
    assert problems == {f"{e} + {m}" for e in ("Empty", "Hazard", "OneWay", "RiverSwim") for m in FACTORS}


def test_ablations_change_what_they_say():
    def options(name: str, key: str) -> set:
        return {str(cell.settings["agent_options"][key]) for cell, _ in wanted(preset(name))}

    assert options("epsilon", "epsilon") == {"[1.0, 0.0]", "[0.5, 0.0]", "[0.2, 0.0]", "0.2", "0.1"}
    assert options("pessimism", "initial_q") == {"-10.0"}
    assert options("successors", "successor_target") == {"first visit", "occupancy"}
    noise = {float(cell.problem.environment.reward_noise.max()) for cell, _ in wanted(preset("reward-noise"))}
    assert noise == {0.01}
    shown = [cell.problem.monitor.observe_probability.max() for cell, _ in wanted(preset("observability"))]
    assert max(shown) == 0.8


@pytest.mark.parametrize(
    ("environment", "monitor", "agent", "alpha", "initial_q"),
    [
        ("Empty", "Ask", "Directed", 1.0, -10.0),
        ("Empty", "Ask", "Naive", 1.0, 1.0),
        ("Hazard", "Full", "UCB", 0.5, 1.0),
        ("TwoRoom3x5", "Level", "Directed", 0.5, -10.0),
        ("RiverSwim", "Full", "Directed", [0.5, 0.05], -10.0),
        ("RiverSwim", "Full", "Optimism", [0.5, 0.05], 50.0),
        ("RiverSwim", "Experts", "QCounts", [0.5, 0.05], 50.0),
        ("Empty", "Experts", "Naive", [1.0, 0.1], 1.0),
        ("Hazard", "Experts", "Intrinsic", [0.5, 0.1], 1.0),
    ],
)
def test_learning_rates_and_starting_values_are_resolved(environment, monitor, agent, alpha, initial_q):
    options = Cell(environment, monitor, agent).settings["agent_options"]
    assert options["alpha"] == alpha
    assert options["initial_q"] == initial_q


def test_a_sweep_is_a_product_in_order():
    sweep = monmdp.Sweep(["Walk", "Loop"], ["Ask"], ["UCB", "Naive"], seeds=2, steps=50)
    told = [(cell.settings["environment"], cell.settings["agent"]) for cell in sweep.cells()]
    assert told == [("Walk", "UCB"), ("Walk", "Naive"), ("Loop", "UCB"), ("Loop", "Naive")]


def test_sweeps_that_overlap_ask_once():
    """A cell in two sweeps is one cell with the seeds of both."""
    one = monmdp.Sweep(["Walk"], ["Full"], ["Naive", "UCB"], seeds=[5, 1], steps=50)
    other = monmdp.Sweep(["walk"], ["full"], ["naive"], seeds=3, steps=50)
    assert [(str(cell), seeds) for cell, seeds in wanted([one, other])] == [
        ("Naive in Walk + Full", [0, 1, 2, 5]),
        ("UCB in Walk + Full", [1, 5]),
    ]
