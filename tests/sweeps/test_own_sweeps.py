"""A user's own sweeps: a TOML file, names with options, and objects of the user's own classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import monmdp
from monmdp.agents import Naive
from monmdp.study.sweep import read_sweeps, requested

TOML = """
[[sweep]]
environments = ["Loop", "Empty(rows=3, columns=4)"]
monitors = ["Ask(cost=0.5)"]
agents = ["Directed(beta_bar=0.1)", "naive"]
seeds = 4
steps = 200
points = 10

[[sweep]]
environments = ["RiverSwim"]
monitors = ["Full"]
agents = ["UCB"]
seeds = [7, 3]
evaluation = "sampled"
discount = 0.9
"""


@dataclass(frozen=True)
class Hall(monmdp.Environment):
    """Three cells; the right end pays."""

    prize: float = 1.0
    states = ("left", "middle", "right")
    actions = ("LEFT", "RIGHT")
    default_limit = 20

    def outcomes(self, state, action):
        place = self.states.index(state) + (1 if action == "RIGHT" else -1)
        yield monmdp.Step(self.states[min(max(place, 0), 2)], self.prize * (place == 3), terminated=place == 3)


@dataclass(frozen=True)
class Peephole(monmdp.Monitor):
    """Looking costs, and shows with even odds."""

    price: float = 0.1
    actions = ("no-op", "look")

    def outcomes(self, moment):
        looked = moment.action == "look"
        yield monmdp.Outcome(-self.price * looked, 0.5 * looked)


@dataclass(frozen=True, kw_only=True)
class Stubborn(Naive):
    """Starts from a value of its own."""

    pride: float = 3.0

    def memory(self, world, steps, seed):
        memory = super().memory(world, steps, seed)
        memory.q[:] = self.pride
        return memory


def test_toml_equals_python(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TOML)
    python = [
        monmdp.Sweep(
            ["Loop", "Empty(rows=3, columns=4)"], ["Ask(cost=0.5)"], ["Directed(beta_bar=0.1)", "naive"],
            seeds=4, steps=200, points=10,
        ),
        monmdp.Sweep(["RiverSwim"], ["Full"], ["UCB"], seeds=[7, 3], evaluation="sampled", discount=0.9),
    ]  # fmt: skip
    written, built = requested(read_sweeps(file)), requested(python)
    assert [(r.job.run_settings, r.seeds) for r in written] == [(r.job.run_settings, r.seeds) for r in built]
    assert [request.seeds for request in written] == [(0, 1, 2, 3)] * 4 + [(3, 7)]
    assert written[-1].job.steps == 20_000


def test_objects_that_users_wrote(tmp_path):
    """Their environment, monitor and agent run like the library's own; options distinguish them."""
    sweep = monmdp.Sweep(
        [Hall(), Hall(prize=2.0)], [Peephole(), "Ask"], [Stubborn(pride=5.0), "Naive"], [4, 9], steps=200, points=10
    )
    report = monmdp.run_sweep([sweep], tmp_path)
    assert (report.runs, report.done, report.failures) == (16, 16, [])
    frame = monmdp.load(tmp_path).to_pandas()
    assert set(frame["environment"]) == {"Hall", "Hall(prize=2.0)"}
    assert set(frame["monitor"]) == {"Peephole", "Ask"}
    assert set(frame["agent"]) == {"Stubborn(pride=5.0)", "Naive"}
    curves = monmdp.train(monmdp.make(Hall(prize=2.0), Peephole()), Stubborn(pride=5.0), [9], steps=200, points=10)
    mine = frame.query("environment == 'Hall(prize=2.0)' and monitor == 'Peephole' and seed == 9")
    mine = mine[mine["agent"] == "Stubborn(pride=5.0)"].sort_values("step")
    assert np.array_equal(mine["return"], curves.returns[0])
    assert monmdp.run_sweep([sweep], tmp_path).runs == 0


def test_a_problem_outside_the_paper_needs_a_number_of_steps():
    with pytest.raises(monmdp.MonMDPError, match=r"Hall \+ Full is not one of the paper's problems"):
        requested([monmdp.Sweep([Hall()], ["Full"], ["Naive"], seeds=1)])
