"""Sweeps in environments without a table: they run, continue, and are read like others."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from sweeping import assert_same

import monmdp
from monmdp import MonMDPError
from monmdp.cli import main
from monmdp.gym.worlds import WORLDS
from monmdp.monitors import MONITORS
from monmdp.study.processes import NotSentError, called_apart
from monmdp.study.results import Results
from monmdp.training.live_job import LiveJob, LiveProblem

GO = np.zeros(1, np.int64)


class ChainEnv(gymnasium.Env):
    """Cells 0 … 4; left and right; entering the last cell pays `prize` and ends the episode."""

    def __init__(self, prize, space):
        self.prize, self.observation_space, self.action_space = prize, space, Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.elapsed = 0, 0
        return self.seen(), {}

    def seen(self):
        return self.cell if isinstance(self.observation_space, Discrete) else np.array([self.cell], np.float32)

    def step(self, action):
        self.cell, self.elapsed = max(self.cell + (1 if action else -1), 0), self.elapsed + 1
        return self.seen(), self.prize * float(self.cell == 4), self.cell == 4, self.elapsed == 20, {}


@dataclass(frozen=True, kw_only=True)
class Chain(monmdp.LiveWorld):
    """The chain; its button is in the first cell."""

    prize: float = 1.0
    continuous: bool = False

    rewards = (0.0, 2.0)
    steps = 600

    def make(self):
        return ChainEnv(self.prize, Box(0, 4, (1,)) if self.continuous else Discrete(5))

    def button(self, seen, action):
        return seen == 0 and action == 0


SWEEP = monmdp.Sweep([Chain(), Chain(prize=2.0)], ["Ask(cost=0.25)", "Button"], ["Directed"], seeds=2, points=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    assert monmdp.run_sweep(SWEEP, folder, threads=1).failures == []
    return folder


def test_returns_are_those_of_episodes_less_costs(folder):
    """The best policy goes right and never asks."""
    table = monmdp.load(folder).to_pandas()
    last = table[table.step == 600].set_index(["environment", "monitor", "seed"])
    assert len(table) == 2 * 2 * 2 * 4
    for seed in (0, 1):
        assert last.loc[("Chain", "Ask(cost=0.25)", seed), "return"] == 1.0
        assert last.loc[("Chain(prize=2.0)", "Ask(cost=0.25)", seed), "return"] == 2.0
        asked = last.loc[("Chain", "Ask(cost=0.25)", seed)]
        assert asked.paid == pytest.approx(0.25 * asked.observed)
        assert 0 < asked.observed < 600
    tables = monmdp.load(folder, kind="tables").to_pandas()
    assert {sum(counts) for counts in tables.visit_counts} == {600}
    assert not tables.solved.any()


def test_a_sweep_continues(folder):
    report = monmdp.run_sweep(SWEEP, folder, threads=1)
    assert (report.runs, report.skipped) == (0, 8)
    more = monmdp.Sweep([Chain()], SWEEP.monitors, SWEEP.agents, seeds=3, points=3)
    assert monmdp.study.runner.plan_sweep(more, folder)[0].runs == 2


def test_processes_give_the_same_results(tmp_path):
    small = monmdp.Sweep([Chain()], ["Ask(cost=0.25)"], ["Directed"], seeds=1, points=3)
    for threads in (1, 2):
        assert monmdp.run_sweep(small, tmp_path / str(threads), threads=threads).failures == []
    assert_same(tmp_path / "1", tmp_path / "2")


def test_readers(folder, capsys):
    assert main(["results", str(folder)]) == 0
    out = capsys.readouterr().out
    assert sum("Ask" in line for line in out.splitlines()) == 2
    assert "solved" not in out
    assert main(["figure", "returns", str(folder), "--out", str(folder / "returns.png")]) == 0
    cell = Results(folder).cell("Chain", "Button", "Directed")
    assert cell.problem is None
    assert np.isnan(cell.target_return)
    assert main(["report", str(folder), "--out", str(folder / "page.html")]) == 0
    assert "Chain" in (folder / "page.html").read_text()


def test_budgets_and_identities():
    def settings(**fields):
        (request,) = monmdp.study.sweep.requested(monmdp.Sweep(monitors=["Ask"], agents=["Directed"], **fields))
        return request.job.run_settings

    plain, half = settings(environments=[Chain()]), settings(environments=[Chain()], budget=0.5)
    assert (plain["steps"], half["steps"], plain["points"], plain["evaluation"]) == (600, 300, 20, "tests")
    other = LiveProblem(Chain(), MONITORS.build("Ask"), 0.99)
    assert plain["problem"] == other.digest
    shift = type("Chain", (Chain,), {"rewards": (0.0, 3.0)})
    assert settings(environments=[shift()])["problem"] != plain["problem"]
    assert settings(environments=["cartpole"])["environment"] == "CartPole"


class Poisoned(gymnasium.Wrapper):
    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "env_reward": info["env_reward"] if info["reward_observed"] else 99.0}
        return observation, reward, terminated, truncated, info


def test_hidden_rewards_change_nothing(folder, tmp_path, monkeypatch):
    make = LiveProblem.make
    monkeypatch.setattr(LiveProblem, "make", lambda self: Poisoned(make(self)))
    monmdp.run_sweep(SWEEP, tmp_path, threads=1)
    for column in ("visit_counts", "q", "reward_model"):
        one, other = (monmdp.load(each, kind="tables")[column].to_pylist() for each in (folder, tmp_path))
        np.testing.assert_array_equal(np.array(one), np.array(other))


def test_random_actions():
    """A random walk reaches the last cell before step 20 with a probability that powers of its matrix give."""
    walk = np.zeros((5, 5))
    for cell in range(4):
        walk[cell, max(cell - 1, 0)] += 0.5
        walk[cell, cell + 1] += 0.5
    walk[4, 4] = 1.0
    expected = np.linalg.matrix_power(walk, 20)[0, 4]
    problem = LiveProblem(Chain(), MONITORS.build("Full"), 0.99)
    assert problem.random_return(2000) == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 2000))


@pytest.mark.parametrize("name", [name for name in WORLDS if name != "MiniGrid"])
@pytest.mark.parametrize("monitor", ["Full", "Ask", "Button", "Battery"])
def test_built_in_worlds_keep_their_range_of_rewards(name, monitor):
    world = WORLDS.build(name)
    env = LiveProblem(world, MONITORS.build(monitor), 0.99).make()
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    for _ in range(200):
        action = env.action_space.sample()
        observation, _, terminated, truncated, info = env.step(action)
        assert world.rewards[0] <= info["env_reward"] <= world.rewards[1]
        assert env.observation_space["env"].shape == observation["env"].shape
        if terminated or truncated:
            env.reset()


def test_a_repeated_action_ends_with_the_episode():
    """Left pushes alone never reach the flag; ten steps cost ten, and the limit of 200 is 20 actions."""
    env = WORLDS.build("MountainCar").make()
    env.reset(seed=0)
    steps = [env.step(0) for _ in range(20)]
    assert [step[1] for step in steps] == [-10.0] * 20
    assert [step[3] for step in steps] == [False] * 19 + [True]


def test_bad_input(tmp_path):
    def error(sweep):
        with pytest.raises(MonMDPError) as caught:
            monmdp.run_sweep(sweep, tmp_path / "none", threads=1)
        assert not (tmp_path / "none").exists()
        return str(caught.value)

    class Nothing(monmdp.LiveWorld):
        rewards, steps = (0.0, 1.0), 10

    assert "method make" in error(monmdp.Sweep([Nothing()], ["Ask"], ["Directed"]))
    assert "MiniGrid has no option 'ids'. Did you mean 'id'" in error(monmdp.Sweep(["MiniGrid(ids=3)"], ["Ask"]))
    no_bins = monmdp.Sweep([Chain(continuous=True)], ["Ask"], ["Directed"], seeds=1)
    (failure,) = monmdp.run_sweep(no_bins, tmp_path, threads=1).failures
    assert "discretizer" in failure
    with pytest.raises(MonMDPError, match="no table of states"):
        LiveJob(LiveProblem(Chain(), MONITORS.build("Ask"), 0.9), "Directed", 10).follow(0)


def test_a_stopped_run_is_not_finished():
    job = LiveJob(LiveProblem(Chain(), MONITORS.build("Ask"), 0.9), "Naive", 100)
    progress = np.zeros(2, np.int64)
    (result,) = job.run_together([(job, 0)], [progress], np.ones(1, np.int64))
    assert result[1] == {}
    assert progress[0] < 100


def count(array, n):
    array[:] = n
    return sys.argv[0], os.getpid()


def test_calls_in_other_processes():
    array = np.zeros(2)
    result = called_apart(partial(count, array, 3), [array], GO)
    assert result[1] != os.getpid()
    assert array.tolist() == [3, 3]
    assert called_apart(partial(count, array, 4), [array], np.ones(1)) is None
    with pytest.raises(ZeroDivisionError):
        called_apart(partial(divmod, 1, 0), [], GO)
    with pytest.raises(MonMDPError, match="ended with code 3"):
        called_apart(partial(os._exit, 3), [], GO)
    with pytest.raises(NotSentError):
        called_apart(lambda: 0, [], GO)


def test_what_a_process_does_not_know_is_trained_here(monkeypatch, tmp_path):
    """A class of a module that exists only here, as in a notebook."""
    here = ModuleType("only_here")
    here.Chain = type("Chain", (Chain,), {"__module__": "only_here"})
    monkeypatch.setitem(sys.modules, "only_here", here)
    sweep = monmdp.Sweep([here.Chain()], ["Ask"], ["Directed"], seeds=1, points=3)
    report = monmdp.run_sweep(sweep, tmp_path, threads=2)
    assert (report.done, report.failures) == (1, [])


class Dying(Chain):
    def make(self):
        if "serve()" in " ".join(sys.orig_argv):
            os._exit(9)
        return super().make()


def test_a_process_that_dies_fails_one_run(tmp_path):
    sweep = monmdp.Sweep([Dying()], ["Ask"], ["Directed"], seeds=1, points=3)
    (failure,) = monmdp.run_sweep(sweep, tmp_path, threads=2).failures
    assert "Dying + Ask, seeds (0,): A process ended with code 9" in failure
