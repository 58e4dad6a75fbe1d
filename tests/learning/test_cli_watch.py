"""`monmdp watch` and `monmdp bench`: pictures of learning, and its speed."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from itertools import islice

import pytest
from by_hand import ring
from reference.agents import plain_agent
from reference.loop import plain_return, training
from rich.console import Console

import monmdp
from monmdp.cli import main
from monmdp.cli.training import LastStep, advance, picture
from monmdp.paper import benchmark
from monmdp.study.snapshots import Run
from monmdp.training.job import Job


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


def test_watch_shows_the_run_of_its_seed(capsys):
    problem, facts = monmdp.make("Loop", "Random"), []
    for seed in (3, 4):
        words = ("watch", *problem.name.split(" + "), "--agent", "Naive", "--steps", "40", "--speed", "40")
        assert main([*words, "--fps", "100000", "--seed", str(seed)]) == 0
        shown = capsys.readouterr().out
        curves = monmdp.train(problem, "Naive", [seed], steps=40, points=1)
        facts.append((int(curves.visited[0, -1]), int(curves.observed[0, -1])))
        assert f"Naive in Loop + Random, seed {seed}" in shown
        assert f"{facts[-1][0]} of 45 pairs" in shown
        assert f"{facts[-1][1]} rewards" in shown
    assert facts[0] != facts[1]


#: Agents with a picture of their own kind; the others are Q-learners like Naive, and each compiles a kernel for it.
WATCHED = ("Directed", "DirectedModel", "Joint", "MonitoredMBIE", "Naive")


@pytest.mark.parametrize(
    "agent", [pytest.param(name, marks=[pytest.mark.slow] * (name not in WATCHED)) for name in monmdp.AGENTS]
)
def test_every_agent_can_be_watched(capsys, agent):
    assert main(["watch", "Hazard", "Button", "--agent", agent, "--steps", "8", "--fps", "100000", "--seed", "2"]) == 0
    shown = capsys.readouterr().out
    assert f"{agent} in Hazard + Button" in shown
    assert "monitor: off" in shown
    assert "monitor: on" in shown


def watched(problem: monmdp.MonMDP, agent: str, steps: int) -> tuple[str, Run, LastStep | None]:
    """The picture after some steps of seed 4, the run, and its last step."""
    run = Run(Job(problem, agent, 500, defaults={"alpha": 1.0, "initial_q": -10.0}), 4)
    last = advance(run, steps)
    console = Console(file=io.StringIO(), width=200)
    console.print(picture(run, last, "paused"))
    return console.file.getvalue(), run, last


def test_the_picture_agrees_with_the_reference_implementation():
    problem = monmdp.make("Loop", "Full")
    shown, run, last = watched(problem, "Directed", 120)
    learner = plain_agent(run.job.agent, problem, 500, 4)
    history = list(islice(training(problem, learner, 500, 4), 120))
    assert (last.pair, last.observed) == (history[-1].state * 5 + history[-1].action, history[-1].observed)
    assert last.explored == history[-1].exploring
    assert run.state == history[-1].next_state
    state, action = divmod(int(learner.visits.argmin()), 5)
    assert f"{problem.action_label(action)} in {problem.state_label(state)}" in shown
    assert f"{learner.beta(120):.4g}, threshold 0.01" in shown
    assert "120 of 500" in shown
    assert f"{(learner.visits > 0).sum()} of 45 pairs" in shown
    assert "120 rewards" in shown
    assert f"{problem.action_label(history[-1].action)} in {problem.state_label(history[-1].state)}" in shown
    assert f"return       {plain_return(problem, learner.q):.4f}" in shown
    assert "@" in shown
    assert "★" in shown


def test_steps_one_by_one_are_the_same_run():
    problem = monmdp.make("Hazard", "Button")
    _, run, _ = watched(problem, "Directed", 150)
    _, slow, last = watched(problem, "Directed", 1)
    for _ in range(149):
        last = advance(slow, 1)
        assert slow.visits.ravel()[last.pair] > 0
    assert (slow.visits == run.visits).all()
    assert slow.state == run.state
    assert slow.metrics() == pytest.approx(run.metrics(), nan_ok=True)


def test_agents_without_a_goal_show_their_mode():
    shown, _, last = watched(monmdp.make("Loop"), "Naive", 40)
    assert ("explore: " if last.explored else "exploit: ") in shown
    assert "β" not in shown
    assert "\ngoal" not in shown


def test_environments_without_places_show_the_facts():
    shown, _, _ = watched(ring(), "Directed", 5)
    assert "5 of 500" in shown
    assert "go in a" in shown
    assert "★" not in shown


OWN_AGENT = """
from dataclasses import dataclass
from monmdp.agents import AGENTS, QLearner
from monmdp.agents.choices import choose_any
from monmdp.cli import main
from monmdp.cli.training import LastStep, advance, picture
from monmdp.kernels.compile import inlined

@inlined
def act_at_random(memory, state, draws):
    return choose_any(memory.q.shape[1], draws), True

@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class RandomWalker(QLearner):
    act = act_at_random

main(["watch", "Loop", "--agent", "randomwalker", "--steps", "30", "--speed", "30", "--fps", "100000"])
"""


def test_a_users_own_agent_can_be_watched(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(OWN_AGENT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "RandomWalker in Loop + Full" in done.stdout
    assert "explored in 100% of the steps" in done.stdout


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
def test_bad_values_print_one_line(capsys, words, culprit):
    """The same messages as from `train`, before the first picture."""
    steps = () if "--steps" in words or words == ("Walk",) else ("--steps", "3")
    assert main(["watch", *words, *steps, *(() if "--fps" in words else ("--fps", "100000"))]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert culprit in message


def test_watch_as_a_process_without_input():
    done = subprocess.run(
        [sys.executable, "-m", "monmdp", "watch", "Loop", "--steps", "5", "--fps", "100000"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 of 5" in done.stdout


def test_bench_measures_every_agent(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "SHOWN", (("Loop", "Full"),))
    assert main(["bench", "--quick", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [row["agent"] for row in results["rows"]] == list(monmdp.AGENTS)
    assert results["machine"]
    for row in results["rows"]:
        assert (row["problem"], row["pairs"]) == ("Loop + Full", 45)
        assert row["step_ns"] > 0
        assert row["evaluation_us"] >= 0
    path = tmp_path / "table.md"
    monkeypatch.setattr(benchmark, "measure_cpu", lambda quick, update: (results, []))
    assert main(["bench", "--quick", "--save", str(path)]) == 0
    assert "| Loop + Full | Directed | 45 |" in path.read_text()
    assert "Loop + Full" in capsys.readouterr().out
    assert main(["bench", "--quick", "--save", str(tmp_path / "no" / "table.md")]) == 2


def test_bench_projects_the_paper():
    text = " ".join(benchmark.paper_cost({"Directed": 4.0, "Naive": 2.0}, cores=2))
    assert "6.00 core-seconds (Directed 4.00, Naive 2.00)" in text
    assert "5.0 minutes on 2 cores" in text
