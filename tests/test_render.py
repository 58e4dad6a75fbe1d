"""Pictures show the agent and observed rewards, never hidden ones."""

from __future__ import annotations

import dataclasses
import warnings
from itertools import cycle

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonitoredEnv

LEFT, DOWN, RIGHT, UP, STAY = range(5)


def picture(problem: monmdp.MonMDP, mode: str, *actions: tuple[int, int], seed: int = 0):
    env = MonitoredEnv(problem, render_mode=mode)
    env.reset(seed=seed)
    for env_action, monitor_action in actions:
        env.step({"env": env_action, "monitor": monitor_action})
    return env.render()


PICTURED = [*monmdp.ENVIRONMENTS, "Taxi-v4", "FrozenLake-v1", "CliffWalking-v1"]


@pytest.mark.parametrize(("name", "monitor"), list(zip(PICTURED, cycle(["Button", "Battery", "Level"]))))
def test_every_problem_has_a_picture(name, monitor):
    problem = monmdp.make(name, monitor)
    pixels = picture(problem, "rgb_array", (0, 0))
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert min(pixels.shape[:2]) >= 100
    assert max(pixels.shape[:2]) <= 1200
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 10, "not a blank page"
    text = picture(problem, "ansi", (0, 0))
    assert problem.monitor.name in text
    assert "step 1" in text


def test_text_shows_the_agent_on_the_map():
    before = picture(monmdp.make(Grid(["..C", "T#."]), "Ask"), "ansi").splitlines()
    after = picture(monmdp.make(Grid(["..C", "T#."]), "Ask"), "ansi", (RIGHT, 0)).splitlines()
    assert before[2].strip("│").split() == ["@", "·", "C"]
    assert before[3].strip("│").split() == ["T", "█", "·"]
    assert after[2].strip("│").split() == ["·", "@", "C"]


def test_text_shows_the_last_step():
    problem = monmdp.make(Grid(["t."]), "Ask")
    assert "none yet" in picture(problem, "ansi")
    hidden, seen = picture(problem, "ansi", (STAY, 0)), picture(problem, "ansi", (STAY, 1))
    assert "hidden" in hidden
    assert "STAY + no-op" in hidden
    assert "seen: -0.1" in seen
    assert "STAY + ask" in seen
    assert "monitor -0.2" in seen
    assert "step 1 of 50" in seen


def test_text_marks_the_monitors_state_and_the_button():
    problem = monmdp.make(Grid(["..", ".."]), "Button(cell=(1, 1))")
    seeds = {problem.monitor.states[MonitoredEnv(problem).reset(seed=s)[0]["monitor"]]: s for s in range(20)}
    assert "[on]" in picture(problem, "ansi", seed=seeds["on"])
    off = picture(problem, "ansi", seed=seeds["off"])
    assert "[off]" in off
    assert "◉" in off


def test_text_shows_the_end_of_the_episode():
    assert "episode over" in picture(monmdp.make(Grid(["C"])), "ansi", (STAY, 0))


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_observed_and_hidden_rewards_look_different(mode):
    """The same step at no cost, seen or hidden."""
    shown, hidden = (monmdp.make("Loop", f"FullRandom(rho={rho})") for rho in (1.0, 0.0))
    hidden = dataclasses.replace(hidden, monitor=dataclasses.replace(hidden.monitor, name=shown.monitor.name))
    one, other = picture(shown, mode, (DOWN, 0)), picture(hidden, mode, (DOWN, 0))
    assert np.any(one != other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(LEFT, 0)], [(DOWN, 0)]),  # the position
        ([(STAY, 0)], [(LEFT, 0)]),  # the action
        ([(STAY, 0)], [(STAY, 1)]),  # the monitor action
        ([(STAY, 0)], [(STAY, 0), (STAY, 0)]),  # the number of steps
    ],
)
def test_pixels_differ_between_scenes(one, other):
    problem = monmdp.make("Hazard", "Ask")
    assert not np.array_equal(picture(problem, "rgb_array", *one), picture(problem, "rgb_array", *other))


def test_pixels_differ_between_monitor_states():
    problem = monmdp.make(Grid([".."]), "Level")
    seeds = {int(MonitoredEnv(problem).reset(seed=s)[0]["monitor"]): s for s in range(40)}
    pages = [picture(problem, "rgb_array", seed=seeds[level]) for level in range(3)]
    assert not np.array_equal(pages[0], pages[1])
    assert not np.array_equal(pages[1], pages[2])


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_pictures_do_not_reveal_hidden_rewards(mode, monitor):
    """Two problems whose pictures may differ by nothing: only a reward that is never shown is another."""
    built = monmdp.MONITORS.build(monitor, observability=0.0)
    plain = monmdp.make(Grid(["..", ".."]), built)
    reward = np.full_like(plain.environment.reward, 123.25)
    secret = dataclasses.replace(plain, environment=dataclasses.replace(plain.environment, reward=reward))
    for actions in ([(RIGHT, 0)], [(STAY, 0), (DOWN, 0)]):
        one, other = picture(plain, mode, *actions), picture(secret, mode, *actions)
        assert np.array_equal(one, other)


def test_pictures_show_observed_rewards():
    """The counterpart: where the same reward is shown, the pictures do differ."""
    plain = monmdp.make(Grid(["..", ".."]), "Full")
    reward = np.full_like(plain.environment.reward, 123.25)
    other = dataclasses.replace(plain, environment=dataclasses.replace(plain.environment, reward=reward))
    assert "123.25" in picture(other, "ansi", (STAY, 0))
    assert not np.array_equal(picture(plain, "rgb_array", (STAY, 0)), picture(other, "rgb_array", (STAY, 0)))


def test_frames_are_copies():
    env = MonitoredEnv(monmdp.make("Loop"), render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    first[:] = 0
    assert env.render().any()


def test_rendering_does_not_change_the_episode():
    games = []
    for mode in (None, "rgb_array"):
        env = MonitoredEnv(monmdp.make("RiverSwim", "Experts"), render_mode=mode)
        env.reset(seed=5)
        games.append([env.step({"env": 1, "monitor": 0})[:2] for _ in range(10) if mode is None or env.render().any()])
    assert games[0] == games[1]


def test_rendering_without_a_mode_warns():
    env = MonitoredEnv(monmdp.make("Loop"))
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render mode"):
        assert env.render() is None


def test_rendering_requires_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        MonitoredEnv(monmdp.make("Loop"), render_mode="ansi").render()


def test_frames_can_be_collected():
    env = gymnasium.make("monmdp/Loop-v0", render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step({"env": 0, "monitor": 0})
    assert len(env.render()) == 2


def test_human_render_mode(monkeypatch):
    """Gymnasium's own window around our pixels; needs the optional game library, but no display."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pygame")
    with pytest.warns(UserWarning, match="HumanRendering"):
        env = gymnasium.make("monmdp/Loop-v0", render_mode="human")
    env.reset(seed=0)
    env.step({"env": DOWN, "monitor": 0})
    assert env.window.get_size() == env.unwrapped.render().shape[1::-1]
    env.close()
