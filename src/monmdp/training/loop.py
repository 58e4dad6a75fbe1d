"""The training loop: act, step, observe, update, and evaluate at the recording points.

`loop_of` builds one compiled loop per agent class from `_run` and `_advance`, in which `act`, `update`, `begin`,
`plan` and `beta` are the agent's own kernels. Only this file reads a reward that the agent does not observe, and it
passes such a reward on only to agents that declare `sees_everything`.
"""

import types
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from monmdp.agents.base import Transition
from monmdp.agents.choices import Draws
from monmdp.errors import InvalidActionError
from monmdp.kernels.compile import kernel
from monmdp.kernels.returns import exact_return, sampled_return
from monmdp.kernels.stepping import draw_observed, draw_outcome, draw_reward, draw_start
from monmdp.problem import Dynamics
from monmdp.registry import is_built_in
from monmdp.rng import stream
from monmdp.training.metrics import count_step, record_point
from monmdp.world import World

#: Steps between two checks of the stop flag.
LISTEN_EVERY = 8192

#: Placeholders in the bodies below; each agent's loop has the agent's own.
act = update = begin = plan = beta = advance = cast(Any, None)
sees_everything = trusted = False


class Keys(NamedTuple):
    """The keys of a run's random streams."""

    start: np.uint64
    world: np.uint64
    observe: np.uint64
    noise: np.uint64
    agent: np.uint64
    evaluation: np.uint64


class Cursor(NamedTuple):
    """The position of a run: the joint state, steps so far, episodes begun, steps of the running episode."""

    state: int
    step: int
    episode: int
    elapsed: int


def stream_keys(seed: int) -> Keys:
    """The keys of a seed."""
    return Keys(*(np.uint64(stream(seed, role)) for role in Keys._fields))


def new_cursor(world: World, keys: Keys) -> Cursor:
    """The position before the first step."""
    return Cursor(int(draw_start(world.start_states, world.start_cumulative, keys.start, 0)), 0, 1, 0)


def _advance(world, memory, keys, cursor, tally, until, progress, stop):
    """Train to step `until`; returns the new cursor and tally, at an earlier step if stop [1] became non-zero.

    progress[0] is the number of steps done, for other threads to read.
    """
    state, step, episode, elapsed = cursor.state, cursor.step, cursor.episode, cursor.elapsed
    dynamics = Dynamics(  # read once, before the loop
        world.offsets, world.cumulative, world.next_state, world.env_reward, world.reward_noise,
        world.monitor_reward, world.observe_probability, world.terminated,
    )  # fmt: skip
    while step < until:
        if step % LISTEN_EVERY == 0:
            progress[0] = step
            if stop[0] != 0:
                break
        if elapsed == 0:
            begin(memory, state, step)
        action, exploring = act(memory, state, Draws(keys.agent, step))
        if not trusted and not 0 <= action < world.n_actions:
            raise InvalidActionError
        pair = state * world.n_actions + action
        outcome = draw_outcome(dynamics, pair, keys.world, step)
        observed = draw_observed(dynamics.observe_probability[outcome], keys.observe, step)
        env_reward = draw_reward(dynamics.env_reward[outcome], dynamics.reward_noise[outcome], keys.noise, step)
        next_state, terminated = world.next_state[outcome], world.terminated[outcome]
        memory.visits[pair] += 1
        transition = Transition(
            step, state, action, world.env_pair[pair], next_state, terminated,
            env_reward if observed or sees_everything else np.nan, world.monitor_reward[outcome],
        )  # fmt: skip
        tally = count_step(tally, transition, env_reward, observed, memory.visits[pair] == 1, exploring)
        update(memory, transition)
        step += 1
        elapsed += 1
        state = np.int64(next_state)
        if terminated or elapsed == world.step_limit:
            state = draw_start(world.start_states, world.start_cumulative, keys.start, episode)
            episode += 1
            elapsed = 0
    return Cursor(state, step, episode, elapsed), tally


def _run(world, memory, keys, cursor, tally, point_steps, episodes, evaluator, record, progress, stop):
    """Train one agent and fill its record; episodes: 0 for exact evaluation, -1 for none, else the test episodes.

    progress [2] is the number of steps and of points done; a stopped run leaves its record incomplete.
    """
    test_clock = np.int64(0)
    for point in range(len(point_steps)):
        cursor, tally = advance(world, memory, keys, cursor, tally, point_steps[point], progress, stop)
        if cursor.step < point_steps[point]:
            return
        if episodes >= 0 or point == len(point_steps) - 1:
            plan(memory, cursor.step)
        value = np.nan
        if episodes == 0:
            value = exact_return(world, memory.q[:], evaluator)
        elif episodes > 0:
            value, test_clock = sampled_return(world, memory.q, episodes, keys.evaluation, test_clock)
        record_point(record, point, cursor.step, tally, beta(memory, cursor.step), value)
        progress[0], progress[1] = cursor.step, point + 1


@cache
def advance_of(agent: Any) -> Any:
    """The compiled training steps of an agent class; those of this package are cached on disk, and their actions are
    not checked. `loop_of` inlines them, which takes less time to compile than a call."""
    names = {name: getattr(agent, name) for name in ("act", "update", "begin", "sees_everything")}
    return _bound(_advance, agent, {**names, "trusted": is_built_in(agent)}, inline="always")


@cache
def loop_of(agent: Any) -> Any:
    """The compiled loop of an agent class: training steps and recording points."""
    return _bound(_run, agent, {"advance": advance_of(agent), "plan": agent.plan, "beta": agent.beta})


def _bound(body: Any, agent: Any, names: dict[str, Any], **options: Any) -> Any:
    """A compiled copy of a body with an agent's own kernels in place of the placeholders."""
    copy = types.FunctionType(body.__code__, {**globals(), **names}, f"{body.__name__}_{agent.__name__}")
    copy.__qualname__ = copy.__name__  # names the cache file, so that two agents never share one
    return kernel(copy, cache=is_built_in(agent), **options)


@kernel
def fill_record(world, outcomes, observed, exploring, tally, noise_key, point_steps, values, betas, visits, record):
    """Fill a record and visits [pairs] from what the device recorded at every step [steps]; returns the last tally."""
    pairs = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets[:]))
    step = 0
    for point in range(len(values)):
        while step < point_steps[point]:
            outcome = outcomes[step]
            pair = pairs[outcome]
            visits[pair] += 1
            env_reward = draw_reward(world.env_reward[outcome], world.reward_noise[outcome], noise_key, step)
            transition = Transition(
                step, pair // world.n_actions, pair % world.n_actions, world.env_pair[pair], world.next_state[outcome],
                world.terminated[outcome], np.nan, world.monitor_reward[outcome],
            )  # fmt: skip
            tally = count_step(tally, transition, env_reward, observed[step], visits[pair] == 1, exploring[step])
            step += 1
        record_point(record, point, step, tally, betas[point], values[point])
    return tally
