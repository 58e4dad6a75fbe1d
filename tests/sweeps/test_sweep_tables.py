"""The jobs of the presets, compared with the paper's tables."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from sweeping import single_job

import monmdp
from monmdp.paper.presets import PRESETS, preset
from monmdp.study.sweep import requested

STEPS = {
    "Empty": 5_000, "Loop": 5_000, "Hazard": 10_000, "OneWay": 10_000, "Corridor": 30_000, "TwoRoom2x11": 5_000,
    "TwoRoom3x5": 10_000, "RiverSwim": 20_000,
}  # fmt: skip
FACTORS = {"Full": 1, "Random": 1, "Ask": 3, "Button": 2, "Experts": 10, "Level": 20}
AGENTS = {"Directed", "Optimism", "UCB", "QCounts", "Intrinsic", "Naive"}


@cache
def requests_of(name: str) -> list[Any]:
    """What a preset asks for."""
    return requested(preset(name))


def jobs_of(name: str) -> list[Any]:
    return [request.job for request in requests_of(name)]


def bare(name: str) -> str:
    return name.split("(")[0]


def test_the_paper():
    """8 × 6 problems, 6 agents, 100 seeds; (95,000 steps × 37 factors) × 6 × 100."""
    requests = requests_of("paper")
    all_settings = [request.job.run_settings for request in requests]
    names = {(settings["environment"], settings["monitor"], settings["agent"]) for settings in all_settings}
    assert names == {(e, m, a) for e in STEPS for m in FACTORS for a in AGENTS}
    assert len(requests) == len(names) == 288
    assert all(request.seeds == tuple(range(100)) for request in requests)
    assert sum(request.steps for request in requests) == 2_109_000_000
    for settings in all_settings:
        assert settings["steps"] == STEPS[settings["environment"]] * FACTORS[settings["monitor"]]
        assert settings["points"] == 1000
        assert settings["evaluation"] == "exact"
        assert settings["discount"] == 0.99


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
def test_every_preset_resolves_into_distinct_jobs_with_the_papers_budgets(name, cells, seeds):
    requests = requests_of(name)
    assert len({request.identity for request in requests}) == len(requests) == cells
    assert {len(request.seeds) for request in requests} == {seeds}
    for request in requests:
        settings = request.job.run_settings
        assert settings["steps"] == STEPS[bare(settings["environment"])] * FACTORS[bare(settings["monitor"])]


def test_the_table_above_names_all_presets():
    others = {
        "tenth",
        "agents",
        "followup",
        "known-monitor",
        "unsolvable",
        "ablation",
        "theorem",
        "random",
        "random-tuning",
        "deep",
        "deep-hard",
        "deep-continuous",
        "deep-foreign",
    }  # their budgets are not the paper's
    assert set(PRESETS) - others == {
        "paper", "quick", "epsilon", "pessimism", "successors", "observability", "reward-noise",
    }  # fmt: skip


def test_quick_is_the_main_figure():
    problems = {job.problem.name for job in preset("quick").jobs()}
    assert problems == {f"{e} + {m}" for e in ("Empty", "Hazard", "OneWay", "RiverSwim") for m in FACTORS}


def test_what_ablations_change():
    def options(name: str, key: str) -> set:
        return {str(job.run_settings["agent_options"][key]) for job in jobs_of(name)}

    assert options("epsilon", "epsilon") == {"[1.0, 0.0]", "[0.5, 0.0]", "[0.2, 0.0]", "0.2", "0.1"}
    assert options("pessimism", "initial_q") == {"-10.0"}
    assert options("successors", "successor_target") == {"first visit", "occupancy"}
    noise = {float(job.problem.environment.reward_noise.max()) for job in jobs_of("reward-noise")}
    assert noise == {0.01}
    shown = [job.problem.monitor.observe_probability.max() for job in jobs_of("observability")]
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
    options = single_job(environment, monitor, agent).run_settings["agent_options"]
    assert options["alpha"] == alpha
    assert options["initial_q"] == initial_q


def test_a_sweep_is_a_product_in_order():
    sweep = monmdp.Sweep(["Walk", "Loop"], ["Ask"], ["UCB", "Naive"], seeds=2, steps=50)
    names = [(job.problem.environment.name, job.agent_name) for job in sweep.jobs()]
    assert names == [("Walk", "UCB"), ("Walk", "Naive"), ("Loop", "UCB"), ("Loop", "Naive")]


def test_overlapping_sweeps():
    """A job in two sweeps is one job with the seeds of both."""
    one = monmdp.Sweep(["Walk"], ["Full"], ["Naive", "UCB"], seeds=[5, 1], steps=50)
    other = monmdp.Sweep(["walk"], ["full"], ["naive"], seeds=3, steps=50)
    assert [(str(request), request.seeds) for request in requested([one, other])] == [
        ("Naive in Walk + Full", (0, 1, 2, 5)),
        ("UCB in Walk + Full", (1, 5)),
    ]
