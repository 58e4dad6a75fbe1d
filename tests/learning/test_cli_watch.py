"""`monmdp watch` and `monmdp bench`: pictures of learning, and how fast it is."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from by_hand import ring
from monmdp.render.learning import Insight
from reference.agents import plain_agent
from reference.loop import training
from rich.console import Console

import monmdp
from monmdp.cli import main
from monmdp.paper import benchmark


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_watch_runs_to_the_end_without_a_terminal(capsys):
    assert main(["watch", "Loop", "Ask", "--steps", "60", "--fps", "100000", "--speed", "20"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "60 of 60" in printed.out
    assert "β" in printed.out
    assert "goal" in printed.out
    assert "explore" in printed.out


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_every_agent_can_be_watched(capsys, agent):
    assert main(["watch", "Hazard", "Button", "--agent", agent, "--steps", "8", "--fps", "100000", "--seed", "2"]) == 0
    shown = capsys.readouterr().out
    assert f"{agent} in Hazard + Button" in shown
    assert "monitor: off" in shown
    assert "monitor: on" in shown


def picture(problem: monmdp.MonMDP, agent: str, steps: int) -> tuple[str, object, list]:
    """What is drawn after so many steps, the agent, and what happened."""
    learner = plain_agent(monmdp.AGENTS.build(agent, alpha=1.0, initial_q=-10.0), problem, 500, 4)
    insight, history = Insight(problem, learner, agent, 500), []
    for stepped in training(problem, learner, 500, 4):
        insight.note(stepped)
        history.append(stepped)
        if len(history) == steps:
            break
    console = Console(file=io.StringIO(), width=200)
    console.print(insight.picture(1, False))
    return console.file.getvalue(), learner, history


def test_the_picture_tells_the_truth():
    problem = monmdp.make("Loop", "Full")
    shown, learner, history = picture(problem, "Directed", 120)
    goal = int(learner.visits.argmin())
    state, action = divmod(goal, 5)
    assert f"{problem.action_label(action)} in {problem.state_label(state)}" in shown
    assert f"{learner.beta(120):.4g} against 0.01" in shown
    assert "120 of 500" in shown
    assert f"{(learner.visits > 0).sum()} of 45 pairs" in shown
    assert "120 rewards" in shown
    assert f"{problem.action_label(history[-1].action)} in {problem.state_label(history[-1].state)}" in shown
    assert "@" in shown
    assert "★" in shown


def test_agents_without_a_goal_show_their_mode():
    shown, _, history = picture(monmdp.make("Loop"), "Naive", 40)
    assert ("random" if history[-1].exploring else "greedy") in shown
    assert "β" not in shown


def test_states_without_places_show_the_facts():
    shown, _, _ = picture(ring(), "Directed", 5)
    assert "5 of 500" in shown
    assert "go in a" in shown
    assert "★" not in shown


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (("Loop", "--agent", "Nobody"), "'Nobody'"),
        (("Loop", "--steps", "0"), "steps"),
        (("Loop", "--fps", "0"), "pictures"),
        (("Loop", "--speed", "0"), "speed"),
        (("Loop", "--seed", "-1"), "seed"),
        (("Walk",), "steps"),
        (("Loop", "--agent", "Naive(alpha=2)"), "between 0 and 1"),
        (("Loop", "--agent", "Naive(initial_q=high)"), "high"),
        (("Loop", "--agent", "Directed(beta_bar=nan)"), "nan"),
        (("Loop", "--agent", "Directed(successor_target=last)"), "last"),
        (("Loop", "--agent", "Directed(successor_discount=2)"), "discount"),
        (("Loop", "--agent", "QCounts(count_discount=1)"), "discount"),
        (("Loop", "--agent", "Intrinsic(bonus=much)"), "much"),
    ],
)
def test_bad_values_end_in_one_line(capsys, words, culprit):
    """The same sentences as from `train`, before the first picture."""
    steps = () if "--steps" in words or words == ("Walk",) else ("--steps", "3")
    assert main(["watch", *words, *steps, *(() if "--fps" in words else ("--fps", "100000"))]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert culprit in said


def test_watch_as_a_process_without_input():
    done = subprocess.run(
        [sys.executable, "-m", "monmdp", "watch", "Loop", "--steps", "5", "--fps", "100000"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 of 5" in done.stdout


def test_bench_measures_every_agent(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "SHOWN", (("Loop", "Full"),))
    monkeypatch.setattr(benchmark, "PLAIN_STEPS", 60)
    assert main(["bench", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["agent"] for row in found["rows"]] == [row.agent for row in benchmark.rows()]
    assert {row["agent"] for row in found["rows"]} == set(monmdp.AGENTS)
    assert found["machine"]
    for row in found["rows"]:
        assert row["problem"] == "Loop + Full"
        assert row["pairs"] == 45
        assert row["ratio"] == pytest.approx(row["plain_step_us"] * 1000 / row["step_ns"])
        assert row["step_ns"] > 0
    path = tmp_path / "table.md"
    assert main(["bench", "--quick", "--save", str(path)]) == 0
    assert "Directed" in path.read_text()
    assert "Loop + Full" in capsys.readouterr().out
    assert main(["bench", "--quick", "--save", str(tmp_path / "no" / "table.md")]) == 2
