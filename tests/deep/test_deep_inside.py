"""The inside of runs with networks: `watch`, snapshots, the page, and rewards that were given up."""

import io
import math
from contextlib import nullcontext

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")
pytest.importorskip("optax", reason="the extra deep is not installed")

from rich.console import Console

import monmdp
from monmdp import MonMDPError
from monmdp.agents.base import DEEP
from monmdp.cli import main, training
from monmdp.cli.training import advance, picture
from monmdp.deep.given_up import given_up
from monmdp.deep.job import Run as DeepRun
from monmdp.deep.replay import History
from monmdp.protocol import paper_job
from monmdp.report import build_page
from monmdp.report.data import MOST_SECONDS, inspector_data, replays_of
from monmdp.study.results import Results
from monmdp.study.snapshots import Run, take_snapshots
from monmdp.training.metrics import METRICS

#: The same sizes as in the tests of training, so that the same programs are used.
STEPS, SMALL = 1000, "hidden=(64,), learning_rate=0.005, batch=32, tracking=0.3"
DIRECTED = f"DeepDirected({SMALL})"


@pytest.fixture(scope="module")
def seen(problem):
    return take_snapshots(problem, DIRECTED, seed=1, steps=STEPS, count=10)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Seed 1 of two agents, in a sweep."""
    folder, agents = tmp_path_factory.mktemp("results"), [f"DeepNaive({SMALL})", DIRECTED]
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Ask"], agents, [1], steps=STEPS, points=10, discount=0.9)], folder)
    return Results(folder)


def test_snapshots_are_of_the_run_of_a_sweep(problem, seen, results):
    cell = results.cell("Loop", "Ask", DIRECTED)
    for metric in METRICS:
        name = metric.attribute
        np.testing.assert_array_equal(getattr(seen, name), cell.curve(metric.column)[0], err_msg=name)
    np.testing.assert_array_equal(seen.q[-1], cell.final_table("q", 1))
    np.testing.assert_array_equal(seen.visits[-1], cell.final_table("visit_counts", 1))
    np.testing.assert_array_equal(seen.reward_model[-1], cell.finals(["reward_model"])["reward_model"][0])
    assert (seen.visits.sum((1, 2)) == seen.steps).all()
    asked = np.arange(problem.n_actions) % 2 == 1
    by_env_pair = seen.visits[:, :, asked].reshape(len(seen.steps), -1)  # a reward is seen exactly if it is asked for
    np.testing.assert_array_equal(seen.reward_counts, by_env_pair)


def pooled_counts(visits, step):
    """n of all pairs of Loop + Ask, [S, environment actions, (no-op, ask)], by hand (`goals`)."""
    parts = visits.reshape(9, 5, 2)
    counts = np.minimum(parts.sum(2, keepdims=True), parts.sum((0, 1))).astype(float)
    # a reward is seen exactly if it is asked for; a visited pair without an answer counts half
    answers = np.maximum(10 * parts[:, :, 1], 0.5 * (parts.sum(2) > 0))
    asks = (answers < np.log(step + 2) / 0.3) & (parts[:, :, 1].sum() > 0)
    counts[:, :, 1] = np.where(asks, np.minimum(counts[:, :, 1], answers), counts[:, :, 1])
    return counts.reshape(9, 10)


def test_goals_are_rare_pairs_of_visited_states_and_values_lead_to_them(problem, seen):
    assert seen.goals[0] == -1  # nothing was seen yet
    assert np.isnan(seen.goal_values[0]).all()
    rarest = []
    for k in range(1, len(seen.steps)):
        visits, values, (state, action) = seen.visits[k], seen.goal_values[k], divmod(seen.goals[k], problem.n_actions)
        counts = pooled_counts(visits, seen.steps[k])
        least = counts[visits.sum(1) > 0].min()
        assert seen.beta[k] == pytest.approx(np.log(seen.steps[k] + 2) / least if least else np.inf)
        assert visits[state].sum() > 0
        rarest.append(counts[state, action] == least)
        np.testing.assert_array_equal(values[state], np.arange(problem.n_actions) == action)
        assert ((values >= 0) & (values <= 1)).all()
    assert np.mean(rarest) > 0.5, "all but those chosen some steps ago"
    state, values = int(seen.goals[-1]) // problem.n_actions, seen.goal_values[-1]
    after = problem.next_state.reshape(problem.n_states, problem.n_actions)  # deterministic
    distance = np.where(np.arange(problem.n_states) == state, 0, problem.n_states)
    for _ in range(problem.n_states):
        distance = np.minimum(distance, 1 + distance[after].min(1))
    others = np.flatnonzero(distance)
    closer = distance[after[others, values[others].argmax(1)]] < distance[others]
    assert closer.mean() > 0.7, "most arrows are on a shortest path to the goal"


#: Those with networks of their own take long to compile.
LARGE = ("BootstrappedDQN", "DeepCautious")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in DEEP])
def test_every_agent_can_be_watched(problem, name):
    run = Run(paper_job(problem, f"{name}({SMALL})", STEPS, 10), 1)
    last = advance(run, 30)
    console = Console(file=io.StringIO(), width=80)
    console.print(picture(run, last, "paused"))
    lines = console.file.getvalue().splitlines()
    shown = "\n".join(lines)
    assert f"{name}(" in shown
    assert "30 of 1,000" in shown
    assert f"{int(run.tally.observed)} reward" in shown
    assert f"{(run.visits > 0).sum()} of 90 pairs" in shown
    assert run.visits.sum() == 30
    assert run.visits.ravel()[last.pair] > 0
    assert ("★" in shown and "threshold 0.3" in shown) == (name == "DeepDirected")
    assert "@" in shown
    assert max(map(len, lines)) <= 80


def test_watch_on_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(training, "keyboard", lambda: nullcontext(lambda deadline: "q"))  # after one picture
    words = ("watch", "Loop", "Ask", "--discount", "0.9", "--steps", str(STEPS), "--agent")
    assert main([*words, DIRECTED, "--observe", "pixels", "--speed", "40"]) == 0
    assert "40 of 1,000" in capsys.readouterr().out
    assert main([*words, DIRECTED, "--observe", "holograms"]) == 2
    assert "no observation called 'holograms'" in capsys.readouterr().err
    assert main([*words, "Naive", "--observe", "pixels"]) == 2
    assert "observe" in capsys.readouterr().err


def test_compilation_is_announced(problem):
    assert "Compiling DeepDirected for the cpu (about" in paper_job(problem, DIRECTED, STEPS).preparing


def test_a_run_that_diverges_says_so(problem):
    job = paper_job(problem, DIRECTED, STEPS, 10)
    job.numbers.learning_rate[...] = np.nan
    run = Run(job, 0)
    with pytest.raises(MonMDPError, match=r"diverged before step 5: .* choose a smaller learning_rate"):
        run.advance(5)


def test_the_page_shows_the_inside_of_a_run(seen, results, monkeypatch):
    (replay,) = replays_of(results)
    assert (replay.agents, replay.seed, replay.steps) == ((DIRECTED, f"DeepNaive({SMALL})"), 1, STEPS)
    monkeypatch.setattr("monmdp.report.data.take_snapshots", lambda *run: seen)
    (shown,) = inspector_data([replay], lambda: None)
    run = shown["runs"][0]
    assert {"goals", "goalBest", "goalValues", "best", "visits", "rewardCounts"} <= set(run)
    assert set(run["metrics"]) == {metric.column for metric in METRICS}
    assert run["levels"]["beta"]["value"] == 0.3
    assert "Inside a run" in build_page(results, [replay])


def test_few_slow_runs_are_replayed(results, monkeypatch):
    monkeypatch.setattr("monmdp.deep.agents.STEP_SECONDS", MOST_SECONDS / STEPS)
    (replay,) = replays_of(results)
    assert replay.agents == (DIRECTED,)
    assert "1 of 2 agents are shown" in replay.description


def test_given_up_rewards_by_hand():
    """Asking shows three of four rewards of pair 0; pair 1 never, pair 2 was asked for too rarely."""
    env_pairs = np.array([0] * 8 + [1] * 50 + [2] * 10)
    asked = np.array([1] * 4 + [0] * 4 + [1] * 20 + [0] * 30 + [1] * 10)
    observed = np.zeros(68, bool)
    observed[:3] = True
    assert 0.75 * 20 + 0.01 * 30 > 2 * math.log(70) > 0.75 * 10
    assert given_up(env_pairs, asked, observed) == pytest.approx({1: 0.75 * 20 + 0.01 * 30})
    assert given_up(env_pairs[:0], asked[:0], observed[:0]) == {}


def test_remarks_name_the_rewards_that_can_never_be_observed():
    """With the steps of a random policy in place of a run, and the sentences of DirectedModel."""
    problem = monmdp.make("Loop", "Ask(never_observable=[(0, 0), (2, 1)])")
    job, rng, n = paper_job(problem, DIRECTED, 6000, 10), np.random.default_rng(0), 6000
    world, run = job.world, DeepRun(job, 0, np.zeros(2, np.int64))
    state, action = rng.integers(world.n_acting_states, size=n), rng.integers(world.n_actions, size=n)
    outcome = world.offsets[state * world.n_actions + action]  # the only one
    parts = {
        "monitor": world.monitor_state[state],
        "action": action,
        "env_pair": (50 - world.env_state[state]) * 5 + action // 2,  # codes are in another order than states
        "outcome": outcome,
        "observed": rng.random(n) < world.observe_probability[outcome],
    }
    run.history = History(**dict.fromkeys(History._fields) | parts)
    remarks = [job._sentence(*remark).partition(":") for remark in run.remarks()]
    hidden = {f"The reward of {a} in {s} was given up" for s, a in monmdp.solve(problem).hidden_rewards}
    assert len(remarks) == len(hidden) > 5
    assert {start for start, _, _ in remarks} == hidden
    assert all(end.startswith(" should have been seen") and end.endswith(", and never was.") for _, _, end in remarks)
