"""What a monitor around an environment costs: `python benchmarks/wrapper.py`.

Prints microseconds per step of CartPole-v1 without a monitor, with every monitor, with Ask in other shapes, and of the
reward model that fills in hidden rewards: on CartPole-v1, whose rewards are all 1, and on Pendulum-v1. Then the monitor
steps per second around a vector environment of 1,024 copies.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

import monmdp

ID, STEPS, REPEATS = "CartPole-v1", 20_000, 7
COPIES, VECTOR_STEPS = 1_024, 500


def microseconds(env: gymnasium.Env[Any, Any], repeats: int = REPEATS) -> float:
    """Processor time per step in microseconds, resets included: the fastest of several repeats of the same actions."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(STEPS)]
    times = []
    for _ in range(repeats):
        env.reset(seed=0)
        started = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        times.append(time.process_time() - started)
    return min(times) / STEPS * 1e6


def wrapped(monitor: str, **shapes: Any) -> gymnasium.Env[Any, Any]:
    """CartPole with a monitor; its button is on the right half, for monitors that need a place."""
    return monmdp.monitored(gymnasium.make(ID), monitor, at=lambda observation, action: observation[0] > 0, **shapes)


def vector() -> VectorEnv:
    """CartPole as arrays."""
    return gymnasium.make_vec(ID, num_envs=COPIES, vectorization_mode="vector_entry_point")


def vector_microseconds(env: VectorEnv, steps: int = VECTOR_STEPS) -> float:
    """Microseconds per step of all copies, which restart on their own: the fastest of several repeats."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(50)]
    times = []
    for _ in range(REPEATS):
        env.reset(seed=0)
        started = time.perf_counter()
        for i in range(steps):
            env.step(actions[i % len(actions)])
        times.append(time.perf_counter() - started)
    return min(times) / steps * 1e6


if __name__ == "__main__":
    plain = microseconds(gymnasium.make(ID))
    print(f"{ID}: {plain:.1f} µs per step without a monitor; with one, the additional time is:")
    ask = microseconds(monmdp.monitored(gymnasium.make(ID), "Ask"))
    print(f"{'Ask':30} {ask - plain:5.1f} µs")
    joint = microseconds(monmdp.monitored(gymnasium.make(ID), "Ask", actions="joint", observations="concat"))
    print(f"{'Ask, joint and concat':30} {joint - plain:5.1f} µs")
    for name, shape in ((ID, "joint"), ("Pendulum-v1", "box")):
        with_model = microseconds(monmdp.fill_rewards(monmdp.monitored(gymnasium.make(name), "Ask", actions=shape)))
        without = microseconds(monmdp.monitored(gymnasium.make(name), "Ask", actions=shape))
        print(f"{'fill_rewards, ' + name:30} {with_model - without:5.1f} µs")
    for name in monmdp.MONITORS:
        print(f"{name + ', with at=':30} {microseconds(wrapped(name), 3) - plain:5.1f} µs")

    plain = vector_microseconds(vector())
    print(f"{COPIES:,} copies: {plain:.0f} µs per step of all without a monitor; with one, the additional time is:")
    for name in monmdp.MONITORS:
        env = monmdp.monitored(vector(), name, at=lambda observation, action: observation[0] > 0)
        array = name not in ("Random", "Button", "RandomPair")  # others depend on the environment, and step one by one
        added = vector_microseconds(env, VECTOR_STEPS if array else 5) - plain
        print(f"{name:30} {added:6.0f} µs, {COPIES / added:6.2f} million monitor steps per second")
