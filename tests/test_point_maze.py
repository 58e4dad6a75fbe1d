"""The point maze: walls stop, the goal pays, and Gymnasium accepts it."""

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import monmdp

RIGHT, UP, LEFT, DOWN = range(4)


def maze():
    assert monmdp  # which registers it
    return gymnasium.make("monmdp/PointMaze-v0")


def test_gymnasium_accepts_it():
    check_env(maze().unwrapped, skip_render_check=True)


def test_walls_stop_and_the_goal_pays():
    env = maze()
    env.reset(seed=0)
    for _ in range(10):
        place = env.step(RIGHT)[0]
    assert 0.2 < place[0] < 1 / 3  # the first wall
    for move in [UP] * 8 + [RIGHT] * 3:  # over the first wall
        place, reward, terminated, truncated, _ = env.step(move)
        assert (reward, terminated, truncated) == (0.0, False, False)
    assert 1 / 3 < place[0] < 2 / 3
    for move in [DOWN] * 9 + [RIGHT] * 4 + [UP] * 9:  # under the second wall
        place, reward, terminated, *_ = env.step(move)
        if terminated:
            break
    assert np.hypot(*(place - 0.9)) < 0.11
    assert (reward, terminated) == (1.0, True)


def test_the_same_seed_gives_the_same_episode_which_ends_after_200_steps():
    one, other = maze(), maze()
    one.reset(seed=3), other.reset(seed=3)
    for _ in range(199):
        assert not one.step(LEFT)[3]
        other.step(LEFT)
    results = [env.step(LEFT) for env in (one, other)]
    assert np.array_equal(results[0][0], results[1][0])
    assert results[0][3]
