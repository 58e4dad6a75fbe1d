"""Grids of options: in Python, TOML files and on the command line; and the columns of options that `load` adds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from sweeping import error_of, output_of

import monmdp
from monmdp import MonMDPError
from monmdp.study.results import Results
from monmdp.study.sweep import read_sweeps, requested

ALPHAS, COSTS = (0.1, 0.5), (0.2, 0.3)
TOML = """
[[sweep]]
{environments} = ["loop", "Empty(rows={{4, 5}}, columns=4)"]
monitors = ["Full", {{name = "Ask", grid = {{cost = [0.2, 0.3]}}}}]
seeds = 1
steps = 40
points = 2

[[sweep.agents]]
name = "Naive"
grid = {{alpha = [0.1, 0.5], epsilon = [0.2]}}
"""
SWEEP = monmdp.Sweep(
    ["Loop", monmdp.grid("Empty(columns=4)", rows=[4, 5])],
    ["Full", *monmdp.grid("Ask", cost=[0.2, 0.3])],
    monmdp.grid(monmdp.AGENTS.find("Naive"), alpha=np.array(ALPHAS), epsilon=[0.2]),
    seeds=1,
    steps=40,
    points=2,
)


def cells(sweeps) -> set[str]:
    return {batch.identity for batch in requested(sweeps)}


def write(folder: Path, text: str) -> Path:
    (folder / "sweep.toml").write_text(text)
    return folder / "sweep.toml"


def test_a_grid_is_the_product_of_its_values():
    specs = monmdp.grid("Directed(epsilon=0.1)", alpha=[0.1, 0.5], beta_bar=range(1, 3), successor_target=["occupancy"])
    assert specs == [
        f"Directed(epsilon=0.1, alpha={alpha}, beta_bar={beta_bar}, successor_target='occupancy')"
        for alpha, beta_bar in itertools.product((0.1, 0.5), (1, 2))
    ]
    assert monmdp.grid("Ask(cost={0.1, 0.5}, observability=1)") == [
        "Ask(cost=0.1, observability=1)",
        "Ask(cost=0.5, observability=1)",
    ]
    assert monmdp.grid("Ask") == ["Ask"]


def test_a_grid_of_a_class_or_an_object_is_of_objects():
    naive = monmdp.AGENTS.find("Naive")
    assert monmdp.grid(naive, alpha=[0.1, (0.5, 0.1)]) == [naive(alpha=0.1), naive(alpha=(0.5, 0.1))]
    assert monmdp.grid(naive(epsilon=0.3), alpha=[0.1]) == [naive(alpha=0.1, epsilon=0.3)]


class Cautious:
    """A learner in plain Python that always takes the same action."""

    def __init__(self, problem, seed, action=0):
        self.action, self.q = action, np.eye(1, problem.n_actions, action).repeat(problem.n_states, 0)

    def act(self, state):
        return self.action

    def update(self, transition):
        pass


def test_a_grid_of_learners_in_plain_python(tmp_path):
    with pytest.raises(MonMDPError, match=r"Cautious: .*'act'"):
        monmdp.grid(Cautious, act=[1, 2])
    monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], [monmdp.grid(Cautious, action=[1, 2])], 1, 20, points=2), tmp_path)
    table = monmdp.load(tmp_path, ["agent", "action"]).to_pylist()
    assert {tuple(row.values()) for row in table} == {("Cautious(action=1)", 1), ("Cautious(action=2)", 2)}


@pytest.mark.parametrize("environments", ["environments", "envs"])
def test_python_toml_and_command_line_ask_for_the_same_runs(environments, tmp_path, capsys, monkeypatch):
    """Three environments, three monitors and two agents, each written in another way."""
    sweeps = read_sweeps(write(tmp_path, TOML.format(environments=environments)))
    assert len(cells(sweeps)) == 3 * 3 * 2
    assert cells(sweeps) == cells(SWEEP)
    asked = []
    monkeypatch.setattr("monmdp.study.runner.plan_sweep", lambda sweeps, *_: asked.append(cells(sweeps)) or 1 / 0)
    words = f"--{environments}=LOOP,Empty(rows={{4,5}}, columns=4)", "--monitors=full,ask(cost={0.2, 0.3})"
    numbers = "--seeds=1", "--steps=40", "--points=2", "--dry-run"
    with pytest.raises(ZeroDivisionError):
        output_of(capsys, "reproduce", *words, "--agents=Naive(alpha={0.1,0.5}, epsilon=0.2)", *numbers)
    assert asked == [cells(SWEEP)]


def test_a_dry_run_counts_the_variants(tmp_path, capsys):
    path = write(tmp_path, TOML.format(environments="envs"))
    lines = output_of(capsys, "reproduce", "--sweep", str(path), "--out", str(tmp_path / "out"), "--dry-run")
    plan = dict(line.rsplit(maxsplit=1) for line in lines.splitlines() if len(line.split()) > 1)
    assert (plan["environments"], plan["monitors"], plan["agents"]) == ("3", "3", "2")
    assert (plan["cells"], plan["runs to do"]) == ("18", "18")


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ('{name = "Naive", grid = {alpa = [0.1]}}', "Naive has no option 'alpa'. Did you mean 'alpha'?"),
        ('{name = "Naive", grid = {alpha = [0.1, "x"]}}', "The option 'alpha' of Naive must be a number"),
        ('{name = "Naive", grid = {alpha = 0.1}}', "list of values for 'alpha', as in alpha=[0.1], not 0.1"),
        ('{name = "Naive", grid = {alpha = []}}', "list of values for 'alpha'"),
        ('{name = "Naive", grid = [1]}', "A table in agents has a name and a grid"),
        ('{nam = "Naive"}', "A table in agents has a name and a grid"),
        ('{name = "Naive", alpha = [0.1]}', "A table in agents has a name and a grid"),
        ("{name = 3}", "The name of a table in agents must be text, not 3"),
        ('{name = "Naiv", grid = {alpha = [0.1]}}', "no agent called 'Naiv'"),
        ('"Naive(alpha={0.1, 0.5"', "is not a name or a call"),
        (f'{{name = "Naive", grid = {{alpha = {list(range(200))}, epsilon = {list(range(200))}}}}}', "not 40,000"),
        (f'"Naive(alpha={{{", ".join(map(str, range(9000)))}}})"', "100,000 cells, not 432,000"),
    ],
)
def test_a_bad_grid_is_one_line(agents, message, tmp_path, capsys):
    path = write(tmp_path, f"[[sweep]]\nagents = [{agents}]\n")
    assert message in error_of(capsys, "reproduce", "--sweep", str(path), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_other_bad_grids(tmp_path, capsys):
    for options in ({"alpha": (0.1, 0.2)}, {"alpha": "0.1"}, {"alpha": {0.1, 0.2}}, {"alpha": None}):
        with pytest.raises(MonMDPError, match="list of values for 'alpha'"):
            monmdp.grid("Naive", **options)
    with pytest.raises(MonMDPError, match="a name or a dataclass"):
        monmdp.grid(3, alpha=[0.1])
    with pytest.raises(MonMDPError, match="'cost' needs one value"):
        monmdp.make("Loop", "Ask(cost={0.1, 0.2})")
    path = write(tmp_path, '[[sweep]]\nenvs = ["Loop"]\nenvironments = ["Loop"]\n')
    assert "environments or envs" in error_of(capsys, "reproduce", "--sweep", str(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    monmdp.run_sweep(SWEEP, folder)
    return folder


def test_load_has_a_column_per_option_that_differs(folder):
    table = monmdp.load(folder)
    assert table.column_names[-3:] == ["rows", "cost", "alpha"]  # not columns or epsilon: these are the same everywhere
    rows = {
        tuple(row.values())
        for row in table.select(["environment", "monitor", "agent", "rows", "cost", "alpha"]).to_pylist()
    }
    environments = {"Loop": None, "Empty(rows=4, columns=4)": 4, "Empty(rows=5, columns=4)": 5}
    monitors = {"Full": None, "Ask": 0.2, "Ask(cost=0.3)": 0.3}  # the cost of Ask is 0.2 by default
    agents = {f"Naive(alpha={alpha}, epsilon=0.2)": alpha for alpha in ALPHAS}
    expected = itertools.product(environments.items(), monitors.items(), agents.items())
    assert rows == {(e, m, a, size, cost, alpha) for (e, size), (m, cost), (a, alpha) in expected}
    assert monmdp.load(folder, ["alpha", "return"]).column_names == ["alpha", "return"]
    assert sorted(set(monmdp.load(folder, ["alpha"], kind="tables")["alpha"].to_pylist())) == [*ALPHAS]


def test_options_that_a_name_leaves_out_have_their_resolved_values(tmp_path):
    """In Loop + Ask the paper's learning rate is 1; UCB has no β̄."""
    agents = ["Directed", "Directed(alpha=0.5, beta_bar=0.25)", "UCB"]
    monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], agents, seeds=1, steps=4, points=2), tmp_path)
    table = monmdp.load(tmp_path, ["agent", "alpha", "beta_bar"], kind="tables").to_pylist()
    expected = {"Directed": (1.0, 0.01), agents[1]: (0.5, 0.25), "UCB": (1.0, None)}
    assert {row["agent"]: (row["alpha"], row["beta_bar"]) for row in table} == expected


def test_a_name_of_two_options_or_of_a_column_has_a_prefix(tmp_path):
    """The monitor is of a class that is not installed here; its options are those of its name."""
    options = ["Naive(alpha=0.1)", "Naive(alpha=(0.5, 0.1))"]
    monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], options, seeds=1, steps=4, points=2), tmp_path)
    results = Results(tmp_path)
    assert set(results.options["alpha"].values()) == {0.1, "(0.5, 0.1)"}
    assert set(monmdp.load(tmp_path)["alpha"].to_pylist()) == {"0.1", "(0.5, 0.1)"}
    for i, cell in enumerate(results.cells.values()):
        cell.settings["monitor"] = f"Mine(alpha={i}, seed={i})"
    del results.__dict__["options"]
    assert sorted(results.options) == ["agent_alpha", "monitor_alpha", "monitor_seed"]
    assert sorted(results.options["monitor_seed"].values()) == [0, 1]
