"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import monmdp
from monmdp.cli import main


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal in which tables are not folded."""
    monkeypatch.setenv("COLUMNS", "300")


def output(capsys, *words: str) -> str:
    assert main(list(words)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def complaint(capsys, *words: str) -> str:
    """What a failing command says; it must end with exit code 2 and without a stack trace."""
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2
    assert "Traceback" not in printed.out + printed.err
    return printed.err


def test_list_names_everything(capsys):
    shown = output(capsys, "list")
    for name in (*monmdp.ENVIRONMENTS, *monmdp.MONITORS):
        assert name in shown
    for option in ("observability", "never_observable", "step_limit", "random_action", "cost=0.2"):
        assert option in shown


def test_list_as_json(capsys):
    found = json.loads(output(capsys, "list", "--json"))
    assert found["environments"] == list(monmdp.ENVIRONMENTS)
    assert found["monitors"] == list(monmdp.MONITORS)


def test_solve_as_json(capsys):
    found = json.loads(output(capsys, "solve", "Empty", "Ask", "--json"))
    assert found["optimal_return"] == pytest.approx(0.99**10)
    assert found["minimax_return"] == pytest.approx(0.99**10)
    assert found["solvable"] is True
    assert found["environment"] == "Empty"
    assert found["monitor"] == "Ask"
    assert found["digest"] == monmdp.make("Empty", "Ask").digest


def test_solve_options(capsys):
    words = ("solve", "Walk", "Full(never_observable='large coin')", "--json", "--discount", "0.9")
    found = json.loads(output(capsys, *words))
    assert found["solvable"] is False
    assert found["optimal_return"] == pytest.approx(0.9**5)
    assert found["minimax_return"] == pytest.approx(0.9 * 0.1)
    assert ["(0, 6)", "STAY"] in found["hidden_rewards"]
    found = json.loads(output(capsys, *words, "--minimum-reward", "0.5"))
    # Believed to pay 0.5 for any action, the coin's cell is entered after five steps and never left.
    assert found["minimax_return"] == pytest.approx(0.5 * sum(0.9**k for k in range(5, 50)))
    assert found["minimum_reward"] == 0.5


def test_solve_with_diameter(capsys):
    found = json.loads(output(capsys, "solve", "Loop", "--diameter", "--json"))
    assert found["diameter"] == pytest.approx(monmdp.diameter(monmdp.make("Loop")))
    found = json.loads(output(capsys, "solve", "RiverSwim(step_limit=None)", "Switch", "--diameter", "--json"))
    assert found["diameter"] is None
    assert found["communicating"] is False


def test_solve_draws_the_policy_for_every_monitor_state(capsys):
    shown = output(capsys, "solve", "Loop", "Button")
    assert f"{monmdp.solve(monmdp.make('Loop', 'Button')).optimal_return:.6f}" in shown
    assert "monitor: off" in shown
    assert "monitor: on" in shown
    assert "↓" in shown


def test_solve_takes_gymnasium_tables_and_options(capsys):
    found = json.loads(output(capsys, "solve", "FrozenLake-v1(is_slippery=False)", "--json"))
    assert found["optimal_return"] == pytest.approx(0.99**5)
    assert "no places" in output(capsys, "solve", "Taxi-v4")


@pytest.mark.parametrize("words", [("EMPTY", "ask"), ("empty", "ASK"), ("eMpTy(rows=6)", "Ask")])
def test_names_in_any_case(capsys, words):
    found = json.loads(output(capsys, "solve", *words, "--json"))
    assert found["digest"] == monmdp.make("Empty", "Ask").digest


def test_optima_of_the_48_problems(capsys):
    found = json.loads(output(capsys, "optima", "--json"))
    assert (len(found), {len(row) for row in found.values()}) == (8, {6})
    assert found["Empty"]["Full"] == pytest.approx(0.99**10)
    assert found["Loop"]["Full"] == pytest.approx(0.99**4)
    assert found["Corridor"]["Full"] == pytest.approx(0.99**19)
    assert found["Loop"]["Button"] == pytest.approx((0.99**4 + 0.99**5 - 0.2) / 2)
    table = output(capsys, "optima")
    assert f"{0.99**10:.5f}" in table
    assert "RiverSwim" in table


def test_version(capsys):
    assert output(capsys, "--version").strip() == monmdp.__version__


@pytest.mark.parametrize(
    ("words", "culprit", "hint"),
    [
        (("solve", "Emty", "Full"), "'Emty'", "'Empty'"),
        (("solve", "Empty", "Asks"), "'Asks'", "'Ask'"),
        (("solve", "Empty(colums=3)"), "'colums'", "'columns'"),
        (("solve", "Empty(step_limit=-1)"), "-1", "step limit"),
        (("solve", "Empty(start=(9, 9))"), "(9, 9)", "start"),
        (("solve", "Empty(start=5)"), "5", "start"),
        (("solve", "Empty", "Ask(cost=much)"), "much", "Ask"),
        (("solve", "Empty", "Ask(cost=1e999)"), "inf", "Ask"),
        (("solve", "Empty", "Ask(never_observable=99)"), "99", "Empty"),
        (("solve", "Empty", "RandomPair(seed=lucky)"), "lucky", "RandomPair"),
        (("solve", "Empty("), "Empty(", "Ask(cost=0.5)"),
        (("solve", "CartPole-v1"), "CartPole-v1", "Discrete"),
        (("solve", "NoSuchGame-v1"), "NoSuchGame", "Gymnasium"),
        (("solve", "FrozenLake-v1(map_name='9x9')"), "9x9", "FrozenLake"),
        (("solve", "Empty", "--discount", "1"), "discount", "1"),
        (("solve", "Empty", "--discount", "nan"), "discount", "nan"),
        (("solve", "Empty", "--minimum-reward", "inf"), "minimum reward", "inf"),
        (("sovle", "Empty"), "'sovle'", "'solve'"),
    ],
)
def test_bad_values_end_in_one_line(capsys, words, culprit, hint):
    said = complaint(capsys, *words)
    assert said.count("\n") == 1
    assert culprit in said
    assert hint in said


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (("solve",), "environment"),
        (("solve", "Empty", "--discount", "high"), "high"),
        (("solve", "Empty", "--jsn"), "--jsn"),
        (("solve", "Empty", "Ask", "Ask"), "Ask"),
    ],
)
def test_arguments_that_cannot_be_read_end_in_one_line(capsys, words, culprit):
    said = complaint(capsys, *words)
    assert culprit in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("words", [(), ("--help",), ("solve", "--help")])
def test_help(capsys, words):
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert stop.value.code == 0
    assert "solve" in capsys.readouterr().out


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "monmdp", *words], capture_output=True, text=True, timeout=120)


def test_as_a_process():
    good, bad = run("solve", "loop", "full", "--json"), run("solve", "Lopp", "Full")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["optimal_return"] == pytest.approx(0.99**4)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "Traceback" not in bad.stderr
    assert bad.stderr.count("\n") == 1
    assert "'Lopp'" in bad.stderr
    assert "'Loop'" in bad.stderr
