"""The loop of all agents with networks: observe, act, step, remember, count, learn. Pure functions over one memory.

A reward that was not observed enters the memory as 0 with known = False, except for agents that see everything.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.acting import Choice, act, candidates, goal_counts, recorded_values, reward_values
from monmdp.deep.goals import least_visits, ratio, with_way
from monmdp.deep.learning import learn
from monmdp.deep.replay import History, reweighted, with_step
from monmdp.deep.state import (
    Memory,
    Numbers,
    Plan,
    blank_memory,
    encoded,
    env_visits,
    joined,
    picture,
    scaled,
    with_outcome,
)
from monmdp.deep.world import Device, Draws, start_state, take_step

#: To try out kernels for each product of matrices takes minutes of processor time for every program, and saves little.
FOR_GPUS = {"xla_gpu_enable_triton_gemm": False, "xla_gpu_autotune_level": 0}


class Seen(NamedTuple):
    """What a step of any world shows. picture, monitor: those after the step; start: the picture with which the next
    episode begins, the same as `picture` unless this one has ended. Pictures are rows of the table of observations."""

    picture: jax.Array
    monitor: jax.Array
    start: jax.Array
    outcome: jax.Array
    env_reward: jax.Array
    monitor_reward: jax.Array
    observed: jax.Array
    terminated: jax.Array
    ended: jax.Array


def decide(
    plan: Plan, numbers: Numbers, memory: Memory, row: jax.Array, monitor: jax.Array, step: jax.Array
) -> tuple[Memory, Choice]:
    """What happens before a step of the world: see a picture, the row of a table, and choose an action."""
    here = memory.code * plan.n_monitor_states + monitor
    memory = memory._replace(seen=memory.seen.at[here].set(True))
    inputs = joined(plan, scaled(memory.codes, picture(numbers, memory.key, row, step)), monitor)
    return memory, act(plan, numbers, memory, inputs, here, step)


def remember(
    plan: Plan,
    numbers: Numbers,
    memory: Memory,
    row: jax.Array,
    monitor: jax.Array,
    choice: Choice,
    seen: Seen,
    step: jax.Array,
) -> Memory:
    """What happens after a step of the world, taken in a picture and monitor state: encode, store and count."""
    after = picture(numbers, memory.key, seen.picture, step + jnp.where(seen.ended, plan.steps + 1, 1))
    next_code, codes = encoded(numbers, memory.codes, seen.picture, after)
    fresh, fresh_codes = encoded(numbers, codes, seen.start, picture(numbers, memory.key, seen.start, step + 1))
    code = jnp.where(seen.ended, fresh, next_code)
    codes = jax.tree.map(lambda new, old: jnp.where(seen.ended, new, old), fresh_codes, codes)

    here = memory.code * plan.n_monitor_states + monitor
    known = seen.observed | (numbers.sees_everything > 0.0)
    env_action, monitor_action = jnp.divmod(choice.action, plan.n_actions // plan.n_env_actions)
    env_pair = memory.code * plan.n_env_actions + env_action
    monitor_pair = monitor * (plan.n_actions // plan.n_env_actions) + monitor_action
    entry = History(
        picture=row,
        monitor=monitor,
        action=choice.action,
        pair=here * plan.n_actions + choice.action,
        env_pair=env_pair,
        next_picture=seen.picture,
        next_monitor=seen.monitor,
        next_goal=next_code * plan.n_monitor_states + seen.monitor,
        outcome=seen.outcome,
        env_reward=jnp.where(known, seen.env_reward, 0.0),
        monitor_reward=seen.monitor_reward,
        known=known,
        observed=seen.observed,
        terminated=seen.terminated,
        ended=seen.ended,
        exploring=choice.exploring,
    )
    next_monitor = jnp.where(seen.terminated, -1, seen.monitor)
    if plan.plans:
        following = next_monitor, seen.monitor_reward
        memory = memory._replace(pair_outcomes=with_outcome(memory.pair_outcomes, entry.pair, *following))
    if plan.pools:
        memory = memory._replace(
            steps_of_pair=with_step(memory.steps_of_pair, entry.pair, memory.visits.ravel(), step),
            steps_of_env_pair=with_step(memory.steps_of_env_pair, env_pair, env_visits(plan, memory.visits), step),
        )
    if plan.knows_ways:
        leads = with_way(memory.leads, memory.code, jnp.where(seen.terminated, memory.code, next_code))
        tries = jnp.where(seen.ended | (choice.goal < 0), 0, memory.tries.at[env_pair].add(1))
        memory = memory._replace(leads=leads, tries=tries)
    if plan.live:
        state, action = jnp.divmod(choice.goal, plan.n_actions)
        missed = (choice.goal >= 0) & (seen.ended | (choice.goal_age >= numbers.goal_steps))
        place = state, action // (plan.n_actions // plan.n_env_actions)
        memory = memory._replace(missed=memory.missed.at[place].add(missed.astype(jnp.int32)))
    history = jax.tree.map(lambda array, value: array.at[step].set(value), memory.history, entry)
    visits = memory.visits.at[here, choice.action].add(1)
    reward_visits = memory.reward_visits.at[env_pair].add(known.astype(jnp.int32))
    past, balance = jnp.arange(plan.steps) <= step, numbers.balance
    count, known_count = visits[here, choice.action], reward_visits[env_pair]
    return memory._replace(
        history=history,
        weights=reweighted(memory.weights, history.pair, entry.pair, count, past, balance),
        reward_weights=reweighted(
            memory.reward_weights, history.env_pair, env_pair, known_count, history.known, balance
        ),
        codes=codes,
        visits=visits,
        reward_visits=reward_visits,
        env_outcomes=with_outcome(memory.env_outcomes, env_pair, next_code, jnp.where(known, seen.env_reward, jnp.nan)),
        monitor_outcomes=with_outcome(memory.monitor_outcomes, monitor_pair, next_monitor, seen.monitor_reward),
        followed=memory.followed.at[monitor_pair, seen.monitor].add(~seen.terminated),
        shown=memory.shown.at[monitor_pair].add(known.astype(jnp.int32)),
        earned=memory.earned.at[monitor_pair].add(seen.monitor_reward),
        code=code.astype(jnp.int32),
        episode=memory.episode + seen.ended,
        goal=jnp.where(seen.ended, -1, choice.goal),
        goal_age=choice.goal_age,
    )


def new_memory(plan: Plan, numbers: Numbers, device: Device, draws: Draws, key: jax.Array) -> Memory:
    """The memory of a run in a problem on the device before its first step."""
    memory, state = blank_memory(plan, numbers, key), start_state(device, draws.start[0])
    row = device.env_state[state]
    code, codes = encoded(numbers, memory.codes, row, picture(numbers, memory.key, row, memory.elapsed))
    return memory._replace(codes=codes, code=code.astype(jnp.int32), state=state)


def one_step(
    plan: Plan, numbers: Numbers, device: Device, draws: Draws, step: jax.Array, memory: Memory
) -> Memory:  # fmt: skip
    """One step of a run in a problem on the device, without learning."""
    row, monitor = device.env_state[memory.state], device.monitor_state[memory.state]
    memory, choice = decide(plan, numbers, memory, row, monitor, step)
    result = take_step(device, draws, step, memory.state * plan.n_actions + choice.action)
    elapsed = memory.elapsed + 1
    ended = result.terminated | (elapsed == device.step_limit)
    state = jnp.where(ended, start_state(device, draws.start[memory.episode]), result.next_state)
    seen = Seen(
        picture=device.env_state[result.next_state],
        monitor=device.monitor_state[result.next_state],
        start=device.env_state[state],
        outcome=result.outcome,
        env_reward=result.env_reward,
        monitor_reward=result.monitor_reward,
        observed=result.observed,
        terminated=result.terminated,
        ended=ended,
    )
    memory = remember(plan, numbers, memory, row, monitor, choice, seen, step)
    return memory._replace(state=state, elapsed=jnp.where(ended, 0, elapsed))


@partial(jax.jit, static_argnums=0, donate_argnums=4, compiler_options=FOR_GPUS)
def advance(
    plan: Plan, numbers: Numbers, device: Device, draws: Draws, memories: Memory, start: jax.Array, until: jax.Array
) -> Memory:
    """Train some runs, each with its numbers, problem, draws and memory [runs, …], from one step to another."""
    own, stepping, learning = (numbers, device, draws), partial(one_step, plan), partial(learn, plan)
    single = len(memories.state) == 1
    if single:  # without an axis of runs, multiplications of matrices are faster
        own, memories = jax.tree.map(lambda array: array[0], (own, memories))
    else:
        stepping, learning = jax.vmap(stepping, (0, 0, 0, None, 0)), jax.vmap(learning, (0, 0, None))

    def both(step: jax.Array, memories: Memory) -> Memory:
        memories = stepping(*own, step, memories)
        if plan.every == 1:
            return learning(own[0], memories, step)
        due = step % plan.every == plan.every - 1
        return jax.lax.cond(due, lambda all: learning(own[0], all, step), lambda all: all, memories)

    trained = jax.lax.fori_loop(start, until, both, memories)
    return jax.tree.map(lambda array: array[None], trained) if single else trained


@partial(jax.jit, static_argnums=0)
def begin(plan: Plan, numbers: Numbers, device: Device, draws: Draws, keys: jax.Array) -> Memory:
    """The memories of some runs before their first step."""
    return jax.vmap(partial(new_memory, plan))(numbers, device, draws, keys)


class Reading(NamedTuple):
    """What is read off the memories of some runs: q [runs, S, A], R̂ [runs, environment states, actions], β and loss."""

    q: jax.Array
    reward_model: jax.Array
    beta: jax.Array
    loss: jax.Array


@partial(jax.jit, static_argnums=0, compiler_options=FOR_GPUS)
def read(plan: Plan, numbers: Numbers, device: Device, memories: Memory, step: jax.Array) -> Reading:
    """The action values of all states, from their pictures without noise, and what else is recorded."""

    def one(numbers: Numbers, device: Device, memory: Memory) -> Reading:
        pictures = scaled(memory.codes, numbers.observations)
        inputs = joined(plan, pictures[device.env_state], device.monitor_state)
        beta: Any = jnp.nan
        if plan.directed:
            beta = ratio(step, least_visits(goal_counts(plan, numbers, memory, step), candidates(plan, memory)))
        return Reading(
            recorded_values(plan, numbers, memory, inputs),
            reward_values(plan, numbers, memory, pictures),
            jnp.where(memory.seen.any(), beta, jnp.nan),
            memory.loss,
        )

    return jax.vmap(one)(numbers, device, memories)
