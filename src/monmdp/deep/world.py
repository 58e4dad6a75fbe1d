"""A problem on the device: a step is a gather over its arrays.

The draws are those of the compiled agents: draw t of the streams "world", "observe" and "noise" of a seed for step t,
and draw k of "start" for episode k.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from monmdp import rng
from monmdp.kernels.random import normals, uniforms
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


class Sizes(NamedTuple):
    """Sizes of the arrays of a problem on the device; problems of equal sizes can share a program."""

    states: int
    actions: int
    outcomes: int
    outcomes_of_pair: int
    start_states: int


def sizes_of(world: World) -> Sizes:
    """The sizes of a world."""
    largest = int(np.diff(world.offsets).max())
    return Sizes(world.n_states, world.n_actions, len(world.next_state), largest, len(world.start_states))


def on_device(world: World, sizes: Sizes) -> Device:
    """The arrays of a world in single precision, filled up to these sizes with what is never reached."""
    counts = np.diff(world.offsets)
    places = world.offsets[:-1, None] + np.arange(max(sizes.outcomes_of_pair - 1, 1))
    inside = np.arange(places.shape[1]) < counts[:, None] - 1
    cumulative = np.where(inside, world.cumulative[np.where(inside, places, 0)], np.inf)
    pairs, lengths = (world.n_states, world.n_actions), {"monitor_state": sizes.states, "env_state": sizes.states}
    lengths |= {"start_states": sizes.start_states, "start_cumulative": sizes.start_states}

    def filled(name: str, array: np.ndarray) -> np.ndarray:
        missing = lengths.get(name, sizes.outcomes) - len(array)
        return np.concatenate([array, np.full(missing, np.inf if name == "start_cumulative" else 0, array.dtype)])

    def by_pair(array: np.ndarray) -> np.ndarray:
        missing = (0, sizes.states - pairs[0]), (0, sizes.actions - pairs[1])
        wide = np.pad(array.reshape(*pairs, -1), (*missing, (0, 0)))
        return wide.reshape(sizes.states * sizes.actions, -1)

    arrays = {name: filled(name, getattr(world, name)) for name in Device._fields[2:-1]}
    first = by_pair(world.offsets[:-1])[:, 0]
    device = Device(first=first, cumulative=by_pair(cumulative), **arrays, step_limit=world.step_limit)
    return Device(*(_single(np.asarray(array)) for array in device))


def _single(array: np.ndarray) -> np.ndarray:
    """An array with 32 bits per number."""
    return array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def draws_of(seed: int, steps: int, noisy: bool) -> Draws:
    """The random numbers of a seed; without reward noise, those of "noise" are not needed."""
    keys = {role: np.uint64(rng.stream(seed, role)) for role in Draws._fields}
    noise = normals(keys["noise"], steps) if noisy else np.zeros(steps, np.float32)
    start, world, observe = (uniforms(keys[role], steps + (role == "start")) for role in ("start", "world", "observe"))
    return Draws(start, world, observe, noise)


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
