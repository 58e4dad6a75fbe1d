"""A problem on the device: a step is a gather over its arrays.

The draws are those of the compiled agents: draw t of the streams "world", "observe" and "noise" of a seed for step t,
and draw k of "start" for episode k.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from monmdp import rng
from monmdp.kernels.random import normal, uniform
from monmdp.world import World


class Device(NamedTuple):
    """Arrays over pairs (first, cumulative [pairs, outcomes - 1]), outcomes, states and start states."""

    first: Any
    cumulative: Any
    next_state: Any
    env_reward: Any
    reward_noise: Any
    monitor_reward: Any
    observe_probability: Any
    terminated: Any
    env_state: Any
    monitor_state: Any
    start_states: Any
    start_cumulative: Any
    step_limit: Any


class Draws(NamedTuple):
    """Random numbers of a seed, [steps]; start has one more."""

    start: Any
    world: Any
    observe: Any
    noise: Any


class Step(NamedTuple):
    """What a step of the world returns."""

    outcome: jax.Array
    next_state: jax.Array
    env_reward: jax.Array
    monitor_reward: jax.Array
    observed: jax.Array
    terminated: jax.Array


def on_device(world: World) -> Device:
    """The arrays of a world, in single precision."""
    sizes = np.diff(world.offsets)
    places = world.offsets[:-1, None] + np.arange(max(int(sizes.max()) - 1, 1))
    inside = np.arange(places.shape[1]) < sizes[:, None] - 1
    cumulative = np.where(inside, world.cumulative[np.where(inside, places, 0)], np.inf)
    arrays = {name: getattr(world, name) for name in Device._fields if name in World._fields}
    device = Device(**arrays | {"first": world.offsets[:-1], "cumulative": cumulative})
    return Device(*(_single(np.asarray(array)) for array in device))


def _single(array: np.ndarray) -> np.ndarray:
    """An array with 32 bits per number."""
    return array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def draws_of(seed: int, steps: int, noisy: bool) -> Draws:
    """The random numbers of a seed; without reward noise, those of "noise" are not needed."""

    def drawn(role: str, draw: Any, n: int) -> np.ndarray:
        key = np.uint64(rng.stream(seed, role))
        return np.fromiter((draw(key, index) for index in range(n)), np.float32, n)

    noise = drawn("noise", normal, steps) if noisy else np.zeros(steps, np.float32)
    parts = {role: drawn(role, uniform, steps + (role == "start")) for role in ("start", "world", "observe")}
    return Draws(**parts, noise=noise)


def start_state(device: Device, draw: jax.Array) -> jax.Array:
    """The joint state in which an episode starts."""
    return device.start_states[(draw >= device.start_cumulative[:-1]).sum()]


def take_step(device: Device, draws: Draws, step: jax.Array, pair: jax.Array) -> Step:
    """Step number `step` of a run, with a joint pair."""
    outcome = device.first[pair] + (draws.world[step] >= device.cumulative[pair]).sum()
    chance = device.observe_probability[outcome]
    return Step(
        outcome,
        device.next_state[outcome],
        device.env_reward[outcome] + device.reward_noise[outcome] * draws.noise[step],
        device.monitor_reward[outcome],
        (chance >= 1.0) | (draws.observe[step] < chance),
        device.terminated[outcome],
    )
