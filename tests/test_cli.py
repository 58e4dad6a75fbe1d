"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest
from rich.console import Console
from rich.text import Text

import monmdp
from monmdp.cli import COMMANDS, main
from monmdp.cli.grids import Grids
from monmdp.paper.presets import PRESETS


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal wide enough for every table."""
    monkeypatch.setenv("COLUMNS", "300")


def output(capsys, *words: str) -> str:
    assert main(list(words)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def error(capsys, *words: str) -> str:
    """The message of a failing command; it must end with exit code 2 and without a stack trace."""
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2
    assert "Traceback" not in printed.out + printed.err
    return printed.err


def test_list_shows_every_name_and_the_options(capsys):
    shown = output(capsys, "list")
    for name in (*monmdp.ENVIRONMENTS, *monmdp.MONITORS, *monmdp.AGENTS):
        assert name in shown
    for option in ("observability=1.0", "never_observable=()", "step_limit='auto'", "random_action=0.0", "cost=0.2"):
        assert option in shown


def test_list_explains_the_options_of_agents(capsys):
    shown = output(capsys, "list")
    assert "beta_bar: explore while β is above it." in shown
    assert "observe_bonus: β_KL of the bound on the probability of observing." in shown
    assert "the largest return that the problem's visible rewards allow" in shown


def test_list_shows_defaults_that_are_used(capsys):
    """The paper's learning rate and initial value for Hazard, its lowest reward, and the place of the button."""
    rows = {line.split()[0]: line for line in output(capsys, "list").replace("\n  ", " ").splitlines() if line.strip()}
    assert "step_limit=200, start=(1, 5)" in rows["TwoRoom2x11"]
    assert "alpha=<by problem>, epsilon=(1.0, 0.0), initial_q=<by problem>" in rows["Naive"]
    assert "cell=<by problem>" in rows["Button"]
    shown = output(capsys, "list", "Hazard", "Button").replace("\n  ", " ")
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "alpha=0.5, epsilon=(1.0, 0.0), initial_q=1.0" in rows["Naive"]
    assert "minimum_reward=-10.0" in rows["DirectedModel"]
    assert "cell=(0, 0), action='LEFT'" in rows["Button"]
    assert "<by problem>" not in shown


def test_list_as_json(capsys):
    result = json.loads(output(capsys, "list", "--json"))
    assert result["environments"] == list(monmdp.ENVIRONMENTS)
    assert result["monitors"] == list(monmdp.MONITORS)


def test_solve_as_json(capsys):
    result = json.loads(output(capsys, "solve", "Empty", "Ask", "--json"))
    assert result["optimal_return"] == pytest.approx(0.99**10)
    assert result["minimax_return"] == pytest.approx(0.99**10)
    assert result["solvable"] is True
    assert result["environment"] == "Empty"
    assert result["monitor"] == "Ask"
    assert result["digest"] == monmdp.make("Empty", "Ask").digest


def test_solve_options(capsys):
    words = ("solve", "Walk", "Full(never_observable='large coin')", "--json", "--discount", "0.9")
    result = json.loads(output(capsys, *words))
    assert result["solvable"] is False
    assert result["optimal_return"] == pytest.approx(0.9**5)
    assert result["minimax_return"] == pytest.approx(0.9 * 0.1)
    assert ["(0, 6)", "STAY"] in result["hidden_rewards"]
    result = json.loads(output(capsys, *words, "--minimum-reward", "0.5"))
    # Believed to pay 0.5 for any action, the coin's cell is entered after five steps and never left.
    assert result["minimax_return"] == pytest.approx(0.5 * sum(0.9**k for k in range(5, 50)))
    assert result["minimum_reward"] == 0.5


def test_solve_with_diameter(capsys):
    result = json.loads(output(capsys, "solve", "Loop", "--diameter", "--json"))
    assert result["diameter"] == pytest.approx(monmdp.diameter(monmdp.make("Loop")))
    result = json.loads(output(capsys, "solve", "RiverSwim(step_limit=None)", "Switch", "--diameter", "--json"))
    assert result["diameter"] is None
    assert result["communicating"] is False


def test_solve_draws_the_policy_for_every_monitor_state(capsys):
    shown = output(capsys, "solve", "Loop", "Button")
    assert f"{monmdp.solve(monmdp.make('Loop', 'Button')).optimal_return:.6f}" in shown
    assert "monitor: off" in shown
    assert "monitor: on" in shown
    assert "↓" in shown


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("monitor", ["Button", "PaidExperts"])
def test_grids_of_all_environments_fit_the_terminal(capsys, monkeypatch, width, monitor):
    """Every tile is drawn in its place, one line below the arrows, with start and button; nothing is cut."""
    monkeypatch.setenv("COLUMNS", str(width))
    for environment in ("Corridor", "TwoRoom2x11", "Cliff", "DangerMaze", "Hazard"):
        problem = monmdp.make(environment, monitor)
        shown = output(capsys, "solve", environment, monitor)
        assert max(map(len, shown.splitlines())) <= width
        assert "…" not in shown
        tiles = "".join(problem.environment.layout.tiles)
        grid = shown[shown.index("┌") : shown.rindex("┘")]
        for tile in "CcT#":
            glyph = {"#": "█"}.get(tile, tile)
            assert grid.count(glyph) == tiles.count(tile) * len(problem.monitor.states), (environment, tile)
        assert grid.count("S") == len(problem.monitor.states)
        assert grid.count("◉") == (2 if monitor == "Button" else 0)


def test_solve_draws_tiles_below_the_arrows(capsys):
    """Loop in three rows: start left of a one-way cell, and the coin in the lower right corner."""
    lines = [line.strip() for line in output(capsys, "solve", "Loop").splitlines()]
    top = lines.index("┌───┬───┬───┐")
    assert lines[top + 1 : top + 3] == ["│ ↓ │ ← │ ← │", "│ S │ ◁ │   │"]
    assert lines[top + 7 : top + 9] == ["│ → │ → │ • │", "│   │   │ C │"]


def test_solve_gymnasium_environments(capsys):
    result = json.loads(output(capsys, "solve", "FrozenLake-v1(is_slippery=False)", "--json"))
    assert result["optimal_return"] == pytest.approx(0.99**5)
    assert "no positions" in output(capsys, "solve", "Taxi-v4")


@pytest.mark.parametrize("words", [("EMPTY", "ask"), ("empty", "ASK"), ("eMpTy(rows=6)", "Ask")])
def test_names_are_matched_in_any_case(capsys, words):
    result = json.loads(output(capsys, "solve", *words, "--json"))
    assert result["digest"] == monmdp.make("Empty", "Ask").digest


def test_optima_of_the_48_problems(capsys):
    result = json.loads(output(capsys, "optima", "--json"))
    assert (len(result), {len(row) for row in result.values()}) == (8, {6})
    assert result["Empty"]["Full"] == pytest.approx(0.99**10)
    assert result["Loop"]["Full"] == pytest.approx(0.99**4)
    assert result["Corridor"]["Full"] == pytest.approx(0.99**19)
    assert result["Loop"]["Button"] == pytest.approx((0.99**4 + 0.99**5 - 0.2) / 2)
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
        (("train", "Empty", "--seed", "3"), "'--seed'", "'--seeds'"),
        (("watch", "Empty", "--seeds=3"), "'--seeds'", "'--seed'"),
        (("solve", "Empty", "--jsn"), "'--jsn'", "'--json'"),
        (("reproduce", "--environmnts", "Empty"), "'--environmnts'", "'--environments'"),
        (("watch", "Empty", "--steps", "3", "--steps=4"), "--steps", "twice"),
    ],
)
def test_bad_values_print_one_line(capsys, words, culprit, hint):
    message = error(capsys, *words)
    assert message.count("\n") == 1
    assert culprit in message
    assert hint in message


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (("solve",), "ENVIRONMENT"),
        (("solve", "Empty", "--discount", "high"), "high"),
        (("solve", "Empty", "Ask", "Ask"), "Ask"),
    ],
)
def test_bad_arguments_print_one_line(capsys, words, culprit):
    message = error(capsys, *words)
    assert culprit in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_overview_fits_80_columns(capsys, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = output(capsys, *words).splitlines()
    assert max(map(len, lines)) <= 80
    for command in COMMANDS:
        (summary,) = [line for line in lines if line.split()[:1] == [command]]
        assert summary.rstrip().endswith(".")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(capsys, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    assert re.search(rf"Examples?: monmdp {command}\b", shown)
    assert max(map(len, shown.splitlines()[1:])) <= 80  # the first line is the usage
    assert "None" not in shown
    assert "False" not in shown  # a flag is off unless it is given, which needs no words


def test_a_wide_map_fits_the_terminal(capsys, monkeypatch):
    """On 80 columns, a map of 20 columns is one table, with narrower cells than usual; one of 40 is several."""
    monkeypatch.setenv("COLUMNS", "80")
    for columns, complete in ((20, True), (40, False)):
        main(["solve", f"Empty(rows=2, columns={columns})", "Full"])
        assert ("columns 0 to" not in capsys.readouterr().out) == complete


@pytest.mark.parametrize("columns", [15, 16, 19, 20, 21, 26, 27, 40])
@pytest.mark.parametrize("word", ["x", "xy", "xyz", "wxyz"])
def test_cells_of_a_wide_map_are_never_cut(columns, word):
    problem = monmdp.make(f"Empty(rows=2, columns={columns})")
    console = Console(width=80, file=io.StringIO())
    console.print(Grids(problem, lambda state, glyph: Text(word)))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(len(re.findall(rf"\b{word}\b", line)) for line in lines) == 2 * columns


def test_help_names_every_preset(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    shown = capsys.readouterr().out
    assert [name for name in PRESETS if name not in shown] == []


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
