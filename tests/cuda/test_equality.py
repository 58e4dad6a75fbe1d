"""A GPU run equals the CPU run of the same seed, number for number."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu import needs_gpu

import monmdp
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep
from monmdp.training.metrics import METRICS

pytestmark = needs_gpu
EVERYTHING = (*(metric.attribute for metric in METRICS), "visit_counts", "q", "reward_model")
OPTIONS = (
    "Directed(successor_target='occupancy')",
    "Directed(balanced_wandering=True)",
    "Directed(beta_bar=0.5)",
    "Directed(random_goal_policy=True)",
    "Directed(successor_alpha=0.3, successor_discount=0.9)",
    "QCounts(count_alpha=0.5, count_discount=0.8)",
    "UCB(epsilon=0.2, initial_q=-10.0)",
    "Intrinsic(bonus=0.1)",
)
OTHERS = ("Oracle", "ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential")


def assert_equal(problem: Any, agent: Any, seeds: Any = (0, 7, 3), **options: Any) -> None:
    """Train on both devices, and compare all results."""
    here, there = (monmdp.train(problem, agent, seeds, device=device, **options) for device in ("cpu", "cuda"))
    different = [n for n in EVERYTHING if not np.array_equal(getattr(here, n), getattr(there, n), equal_nan=True)]
    assert different == []


@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_paper(agent: str) -> None:
    for environment in DEFAULT_STEPS:
        for monitor in PAPER_MONITORS:
            assert_equal(monmdp.make(environment, monitor), agent, steps=6000, points=150)


@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_whole_runs(agent: str) -> None:
    for names in (("Empty", "Ask"), ("RiverSwim", "Experts"), ("Hazard", "Level"), ("Corridor", "Level")):
        assert_equal(monmdp.make(*names), agent, seeds=4)


@pytest.mark.parametrize("agent", [*OPTIONS, *OTHERS])
def test_options_and_older_agents(agent: str) -> None:
    for names in (("Hazard", "Experts"), ("RiverSwim", "Level"), ("Empty", "Button")):
        assert_equal(monmdp.make(*names), agent, steps=4000, points=40)


def test_model_based_agent_has_similar_returns() -> None:
    problem = monmdp.make("Loop", "Ask")
    here, there = (monmdp.train(problem, "MonitoredMBIE", 3, steps=3000, points=30, device=d) for d in ("cpu", "cuda"))
    assert np.allclose(here.final_returns, there.final_returns)


@dataclasses.dataclass(frozen=True)
class Wide(monmdp.Monitor):
    """More joint actions than a warp has lanes."""

    states = ("idle",)
    actions = tuple(f"ask {number}" for number in range(9))

    def outcomes(self, moment: Any) -> Any:
        yield monmdp.Outcome(reward=-0.01 * (moment.action != "ask 0"), observed=moment.action == "ask 8")


@pytest.mark.parametrize("agent", ["Directed", "UCB", "Naive"])
def test_more_actions_than_lanes(agent: str) -> None:
    assert_equal(monmdp.make("Loop", Wide()), agent, steps=5000, points=50)


@pytest.mark.parametrize("evaluation", ["sampled", "none"])
def test_other_evaluations(evaluation: str) -> None:
    problem = monmdp.make("Hazard", "Ask")
    for agent in ("Directed", "Naive"):
        assert_equal(problem, agent, steps=2000, points=20, evaluation=evaluation)


def test_observability_and_no_step_limit() -> None:
    assert_equal(monmdp.make("Empty", "Ask(observability=0.8)"), "Directed", steps=5000, points=50)
    assert_equal(monmdp.make("Empty(step_limit=None)", "Ask"), "Naive", steps=5000, points=50)


def test_noisy_rewards_agree_closely() -> None:
    noisy = monmdp.make("Loop(reward_noise=0.01)", "Full")
    here, there = (monmdp.train(noisy, "Naive", 5, steps=2000, points=20, device=d) for d in ("cpu", "cuda"))
    assert np.allclose(here.reward_model, there.reward_model, rtol=1e-9)


def test_waves_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from monmdp.cuda import backend
    from monmdp.cuda.schedule import device_bytes, waves

    cut: list[int] = []

    def narrow(work: Any, room: int) -> Any:
        result = waves(work, max(device_bytes(part.job) for part in work) * 2)
        cut.append(len(result))
        return result

    monkeypatch.setattr(backend, "waves", narrow)
    assert_equal(monmdp.make("Loop", "Level"), "Directed", seeds=5, steps=2000, points=20)
    assert cut == [3]


def test_sweep_writes_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sweep = Sweep(environments=["Loop", "Hazard"], monitors=["Ask"], agents=PAPER_AGENTS, seeds=3, steps=500, points=10)
    for device in ("cpu", "cuda"):
        assert run_sweep(sweep, tmp_path / device, device=device).done == 36
    one, other = (sorted(path.name for path in (tmp_path / name).rglob("*.parquet")) for name in ("cpu", "cuda"))
    assert one == other
    assert run_sweep(sweep, tmp_path / "cuda", device="cuda").runs == 0
