"""The training loop: act, step, observe, update, and evaluate at the recording points.

`loop_of` builds one compiled loop per agent from the bodies `_run` and `_advance`, in which `act`, `update` and
`beta` are the agent's own kernels. Only this file touches a reward that the agent did not see, and passes it on
only to agents that say they see everything.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import types
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from monmdp.kernels.compile import kernel
from monmdp.kernels.stepping import draw_observed, draw_outcome, draw_reward, draw_start
from monmdp.problem import Dynamics, Floats, Integers
from monmdp.rng import stream
from monmdp.training.evaluation import exact_return, sampled_return
from monmdp.world import World

#: The streams of a run, in the order of its keys.
STREAMS = ("start", "world", "observe", "noise", "agent", "evaluation")


#: Steps between two looks at whether to stop.
LISTEN_EVERY = 8192

#: Stand-ins in the body below; each agent's loop has the agent's own.
act: Any = None
update: Any = None
begin: Any = None
plan: Any = None
beta: Any = None
advance: Any = None
sees_everything = False

#: What a cursor [7] holds: where a run stands.
CURSOR = ("state", "step", "episode", "elapsed", "observed", "visited", "exploring")


class Record(NamedTuple):
    """What is recorded at each point, [points]: see `Curves`."""

    returns: Floats
    observed: Integers
    visited: Integers
    beta: Floats
    explored: Floats


def new_record(points: int) -> Record:
    """An empty record; points that were never reached stay NaN or zero."""
    return Record(
        returns=np.full(points, np.nan),
        observed=np.zeros(points, np.int64),
        visited=np.zeros(points, np.int64),
        beta=np.full(points, np.nan),
        explored=np.zeros(points),
    )


def stream_keys(seed: int) -> Integers:
    """The keys of a run's streams, [6]."""
    return np.array([stream(seed, role) for role in STREAMS], np.uint64)


def new_cursor(world: World, keys: Integers) -> Integers:
    """Where a run stands before its first step: see CURSOR."""
    start = draw_start(world.start_states, world.start_cumulative, keys[0], 0)
    return np.array([start, 0, 1, 0, 0, 0, 0], np.int64)


def _advance(world, memory, keys, cursor, until, progress, stop):
    """Train from where the cursor stands to the step `until`; False if it was told to stop before.

    keys [6] are the streams of STREAMS; progress[0] tells who watches the steps done; a non-zero stop [1]
    ends the run soon.
    """
    start_key, world_key, observe_key, noise_key, agent_key = keys[0], keys[1], keys[2], keys[3], keys[4]
    state, step, episode, elapsed = cursor[0], cursor[1], cursor[2], cursor[3]
    observed_rewards, distinct, exploring_steps = cursor[4], cursor[5], cursor[6]
    dynamics = Dynamics(  # a small tuple: every inlined kernel that is given one counts references to all its arrays
        world.offsets, world.cumulative, world.next_state, world.env_reward, world.reward_noise,
        world.monitor_reward, world.observe_probability, world.terminated,
    )  # fmt: skip
    while step < until:
        if step % LISTEN_EVERY == 0:
            progress[0] = step
            if stop[0] != 0:
                return False
        if elapsed == 0:
            begin(memory, state, step)
        action, exploring = act(memory, state, step, agent_key)
        pair = state * world.n_actions + action
        outcome = draw_outcome(dynamics, pair, world_key, step)
        proxy_reward = np.nan
        if draw_observed(dynamics, outcome, observe_key, step):
            proxy_reward = draw_reward(dynamics, outcome, noise_key, step)
            observed_rewards += 1
        elif sees_everything:
            proxy_reward = draw_reward(dynamics, outcome, noise_key, step)
        next_state, terminated = world.next_state[outcome], world.terminated[outcome]
        memory.visits[pair] += 1
        if memory.visits[pair] == 1:
            distinct += 1
        if exploring:
            exploring_steps += 1
        update(
            memory, state, action, world.env_pair[pair], next_state, terminated,
            proxy_reward, world.monitor_reward[outcome], step,
        )  # fmt: skip
        step += 1
        elapsed += 1
        state = next_state
        if terminated or elapsed == world.step_limit:
            state = draw_start(world.start_states, world.start_cumulative, start_key, episode)
            episode += 1
            elapsed = 0
    cursor[0], cursor[1], cursor[2], cursor[3] = state, step, episode, elapsed
    cursor[4], cursor[5], cursor[6] = observed_rewards, distinct, exploring_steps
    return True


def _run(world, memory, keys, cursor, point_steps, episodes, memo, record, progress, stop):
    """Train one agent; episodes is 0 for exact evaluation, negative for none, else test episodes a point.

    progress [2] tells who watches the steps and points done; a stopped run leaves its record incomplete.
    """
    test_clock = np.zeros(1, np.int64)
    for point in range(len(point_steps)):
        if not advance(world, memory, keys, cursor, point_steps[point], progress, stop):
            return
        step = cursor[1]
        if episodes >= 0 or point == len(point_steps) - 1:
            plan(memory, step)
        if episodes == 0:
            record.returns[point] = exact_return(world, memory.q, memo)
        elif episodes > 0:
            record.returns[point] = sampled_return(world, memory.q, episodes, keys[5], test_clock)
        record.observed[point] = cursor[4]
        record.visited[point] = cursor[5]
        record.beta[point] = beta(memory, step)
        record.explored[point] = cursor[6] / max(step, 1)
        progress[0], progress[1] = step, point + 1


@cache
def advance_of(agent: Any) -> Any:
    """The compiled training steps of an agent class; those of this package are kept on disk."""
    names = ("act", "update", "begin", "sees_everything")
    return _bound(_advance, agent, {name: getattr(agent, name) for name in names})


@cache
def loop_of(agent: Any) -> Any:
    """The compiled loop of an agent class: training steps and recording points."""
    return _bound(_run, agent, {"advance": advance_of(agent), "plan": agent.plan, "beta": agent.beta})


def _bound(body: Any, agent: Any, names: dict[str, Any]) -> Any:
    """A compiled copy of a body in which the stand-ins are an agent's own."""
    copy = types.FunctionType(body.__code__, {**globals(), **names}, f"{body.__name__}_{agent.__name__}")
    copy.__qualname__ = copy.__name__  # names the cache file, so that loops of two agents never meet
    return kernel(copy, cache=agent.__module__.startswith("monmdp."))
