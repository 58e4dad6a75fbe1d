"""A monitor of ten lines and a map of one's own, in a script that knows nothing but the package's name."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = '''
import json
from dataclasses import dataclass

import gymnasium
from gymnasium.utils.env_checker import check_env

import monmdp


@monmdp.MONITORS.add
@dataclass(frozen=True)
class Candle(monmdp.Monitor):
    """Burns for a price; a match lights it, the wind may blow it out."""

    price: float = 0.1
    states = ("dark", "lit")
    actions = ("no-op", "match")

    def outcomes(self, moment):
        lit = moment.state == "lit" or moment.action == "match"
        yield monmdp.Outcome(-self.price * lit, lit, "dark", 0.5)
        yield monmdp.Outcome(-self.price * lit, lit, "lit" if lit else "dark", 0.5)


cave = monmdp.Grid(["..#", "#.C"], start=(0, 0), step_limit=20)
problem = monmdp.make(cave, Candle(price=0.2))
solution = monmdp.solve(problem)

env = gymnasium.make("monmdp/MonMDP-v0", environment=cave, monitor="candle(price=0.2)", render_mode="ansi")
check_env(env.unwrapped)
env.reset(seed=0)
for action in (2, 1, 2, 4):
    _, reward, terminated, truncated, info = env.step({"env": action, "monitor": 0})

many = gymnasium.make_vec("monmdp/Empty-v0", num_envs=3, monitor=Candle())
many.reset(seed=0)
many.step(many.action_space.sample())

print(json.dumps({
    "return": solution.optimal_return,
    "solvable": solution.solvable,
    "hidden": solution.hidden_rewards,
    "states": problem.n_states,
    "same": env.unwrapped.problem.digest == problem.digest,
    "dimmed": monmdp.solve(monmdp.make(cave, Candle(never_observable=["large coin"]))).minimax_return,
    "explained": problem.explain(((0, 0), "dark"), ("RIGHT", "match")),
    "diameter": monmdp.diameter(problem),
    "terminated": terminated,
    "coin": info["env_reward"],
    "picture": env.render(),
    "option": str(monmdp.MONITORS.build("Candle", price=3)),
}))
'''


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("elsewhere")
    script = folder / "mine.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_it_solves(result):
    """Right, down, right, coin: γ³ without light. Lit at the start (even odds): 0.2 the first step, and each later
    one with half the chance of the one before: 0.2 · (1 + γ/2 + γ²/4 + γ³/8)."""
    lit = 0.99**3 - 0.2 * sum((0.99 / 2) ** k for k in range(4))
    assert result["return"] == pytest.approx((0.99**3 + lit) / 2, abs=1e-12)
    assert result["solvable"]
    assert result["hidden"] == []
    assert result["states"] == 6 * 2


def test_modifiers_work_on_it(result):
    """With the coin in the dark it is worth nothing but an end: lit at the start (even odds), the light is paid for
    over the four steps that lead there, each with half the chance of the one before."""
    expected = -0.1 * 0.5 * sum((0.99 / 2) ** k for k in range(4))
    assert result["dimmed"] == pytest.approx(expected, abs=1e-12)


def test_it_plays(result):
    assert result["same"]
    assert result["terminated"]
    assert result["coin"] == 1.0
    assert "@" in result["picture"]


def test_it_is_explained(result):
    assert "(0, 0), dark" in result["explained"]
    assert "monitor reward -0.2" in result["explained"]


def test_it_has_a_diameter(result):
    assert 4 <= result["diameter"] < 100


def test_its_options_are_read_from_text(result):
    assert "price=3" in result["option"]
