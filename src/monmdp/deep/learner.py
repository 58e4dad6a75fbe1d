"""The loop of all agents with networks: observe, act, step, remember, count, learn. Pure functions over one memory.

x = (o, monitor state as a unit vector);  loss = loss_Q + loss_R̂ + loss_Ŝ, each with its own network and batch
θ ← θ − α_t Adam(∇ loss),  α_t = α (c + (1 − c) (1 + cos(π t / T)) / 2);  θ⁻ ← θ⁻ + τ (θ − θ⁻) for Q and Ŝ

A reward that was not observed enters the memory as 0 with known = False, except for agents that see everything.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from monmdp.deep import heads
from monmdp.deep.codes import Codes, encode, new_codes, scale
from monmdp.deep.goals import choose_goal, least_visits, pooled, ratio, toward
from monmdp.deep.networks import new_layers
from monmdp.deep.reach import FIRST_LOGIT, reach_logits, reach_loss, reach_targets
from monmdp.deep.replay import History, draw, new_history, weights
from monmdp.deep.rewards import modelled_rewards, reward_loss
from monmdp.deep.values import best_action, q_loss, q_targets, q_values
from monmdp.deep.world import Device, Draws, start_state, take_step

#: The part of a run's random key for noise; steps have the others.
NOISE = 2**31 - 1


class Plan(NamedTuple):
    """What a program is compiled for: sizes, and whether the agent explores toward goals, by pooled counts."""

    steps: int
    n_codes: int
    n_monitor_states: int
    n_env_actions: int
    n_actions: int
    hidden: tuple[int, ...]
    batch: int
    every: int
    directed: bool
    pooled: bool

    @property
    def n_goals(self) -> int:
        """The number of goals: codes and monitor states."""
        return self.n_codes * self.n_monitor_states


class Numbers(NamedTuple):
    """Options and facts that are only numbers; programs are compiled once for all of them.

    n_actions: the first of a program's actions are those of the problem, the others are never chosen. noise: None if
    there is none. uses_model, ignores, sees_everything: 1 for agents that put R̂ in the place of rewards, learn Q only
    from known rewards, or know hidden ones; else 0.
    """

    observations: Any
    n_actions: Any
    noise: Any
    squared_radius: Any
    epsilon: Any
    learning_rate: Any
    last_learning_rate: Any
    balance: Any
    tracking: Any
    q_bins: Any
    reward_bins: Any
    minimum_reward: Any
    discount: Any
    beta_bar: Any
    goal_discount: Any
    goal_steps: Any
    bonus: Any
    uses_model: Any
    ignores: Any
    sees_everything: Any


class Memory(NamedTuple):
    """Everything that a run changes.

    networks and slow (target networks): layers by name. code: that of the current picture. visits [goals, A];
    reward_visits [codes * environment actions]: rewards observed; seen [goals]: whether the agent acted there.
    first_code, first_reward, varies [codes * environment actions]: what followed an environment pair first, and whether
    something else did later; -1 and NaN if nothing.
    shown, earned [monitor states * monitor actions]: rewards observed and the sum of monitor rewards there.
    goal: a pair, -1 for none, since goal_age steps. loss: those of Q, R̂ and Ŝ at the last update.
    """

    key: jax.Array
    networks: dict[str, Any]
    slow: dict[str, Any]
    moments: Any
    history: History
    codes: Codes
    visits: jax.Array
    reward_visits: jax.Array
    first_code: jax.Array
    first_reward: jax.Array
    varies: jax.Array
    shown: jax.Array
    earned: jax.Array
    seen: jax.Array
    state: jax.Array
    code: jax.Array
    elapsed: jax.Array
    episode: jax.Array
    goal: jax.Array
    goal_age: jax.Array
    loss: jax.Array


def picture(numbers: Numbers, key: jax.Array, row: jax.Array, clock: jax.Array) -> jax.Array:
    """The observation [D] of an environment state with the noise of a moment; the same moment has the same noise."""
    clean: jax.Array = numbers.observations[row]
    if numbers.noise is None:
        return clean
    own = jax.random.fold_in(jax.random.fold_in(key, NOISE), clock)
    return clean + numbers.noise * jax.random.normal(own, clean.shape)


def joined(plan: Plan, pictures: jax.Array, monitor: jax.Array) -> jax.Array:
    """Inputs of networks: scaled pictures [..., D] and monitor states [...] as unit vectors."""
    return jnp.concatenate([pictures, jax.nn.one_hot(monitor, plan.n_monitor_states)], -1)


def scaled(codes: Codes, pictures: jax.Array) -> jax.Array:
    """Pictures [..., D] as networks see them."""
    mean, factor = scale(codes)
    return (pictures - mean) * factor


def new_memory(plan: Plan, numbers: Numbers, device: Device, draws: Draws, key: jax.Array) -> Memory:
    """The memory of a run in a problem on the device before its first step."""
    memory, state = blank_memory(plan, numbers, key), start_state(device, draws.start[0])
    seen_first = picture(numbers, memory.key, device.env_state[state], memory.elapsed)
    code, codes = encode(memory.codes, seen_first, numbers.squared_radius)
    return memory._replace(codes=codes, code=code.astype(jnp.int32), state=state)


def blank_memory(plan: Plan, numbers: Numbers, key: jax.Array) -> Memory:
    """The memory of a run that has seen nothing."""
    own, q_key, reward_key, reach_key = jax.random.split(key, 4)
    n_numbers, n_bins = numbers.observations.shape[1], len(numbers.q_bins)
    inputs = n_numbers + plan.n_monitor_states
    repeated = [jnp.tile(heads.near_zero(bins), n) for bins, n in (
        (numbers.q_bins, plan.n_actions), (numbers.reward_bins, plan.n_env_actions)
    )]  # fmt: skip
    networks: dict[str, Any] = {
        "q": new_layers(q_key, inputs, plan.hidden, plan.n_actions * n_bins, repeated[0]),
        "reward": new_layers(reward_key, n_numbers, plan.hidden, plan.n_env_actions * n_bins, repeated[1]),
    }
    if plan.directed:
        outputs = plan.n_actions * plan.n_goals
        networks["reach"] = new_layers(reach_key, inputs, plan.hidden, outputs, FIRST_LOGIT)
    zero, n_monitor_actions = jnp.zeros((), jnp.int32), plan.n_actions // plan.n_env_actions
    return Memory(
        key=own,
        networks=networks,
        slow={name: layers for name, layers in networks.items() if name != "reward"},
        moments=optax.scale_by_adam().init(networks),
        history=new_history(plan.steps),
        codes=new_codes(plan.n_codes, n_numbers),
        visits=jnp.zeros((plan.n_goals, plan.n_actions), jnp.int32),
        reward_visits=jnp.zeros(plan.n_codes * plan.n_env_actions, jnp.int32),
        first_code=jnp.full(plan.n_codes * plan.n_env_actions, -1, jnp.int32),
        first_reward=jnp.full(plan.n_codes * plan.n_env_actions, jnp.nan),
        varies=jnp.zeros(plan.n_codes * plan.n_env_actions, jnp.bool_),
        shown=jnp.zeros(plan.n_monitor_states * n_monitor_actions, jnp.int32),
        earned=jnp.zeros(plan.n_monitor_states * n_monitor_actions),
        seen=jnp.zeros(plan.n_goals, jnp.bool_),
        state=zero,
        code=zero,
        elapsed=zero,
        episode=zero + 1,
        goal=zero - 1,
        goal_age=zero,
        loss=jnp.zeros(3),
    )


def possible(plan: Plan, numbers: Numbers) -> jax.Array:
    """Whether an action is one of the problem's [A]."""
    return jnp.arange(plan.n_actions) < numbers.n_actions


class Choice(NamedTuple):
    """An action, whether it explores, and the goal pair with its age, -1 for none."""

    action: jax.Array
    exploring: jax.Array
    goal: jax.Array
    goal_age: jax.Array


def act(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array, here: jax.Array, step: jax.Array) -> Choice:
    """Choose an action from what the networks say about inputs [inputs]; here: the goal that the agent is in."""
    any_key, random_key = jax.random.split(jax.random.fold_in(memory.key, 2 * step))
    anything = jax.random.randint(any_key, (), 0, numbers.n_actions.astype(jnp.int32))
    slips = jax.random.uniform(random_key) < numbers.epsilon[step]
    allowed = possible(plan, numbers)
    greedy = best_action(q_values(memory.networks["q"], inputs, numbers.q_bins), allowed)
    if not plan.directed:
        return Choice(jnp.where(slips, anything, greedy), slips, memory.goal, memory.goal_age)
    counts, costs = goal_counts(plan, numbers, memory, step), mean_costs(plan, memory)
    exploring = ratio(step, least_visits(counts, memory.seen)) > numbers.beta_bar
    reach = jax.nn.sigmoid(reach_logits(memory.networks["reach"], inputs, allowed))
    keeps = (memory.goal >= 0) & (memory.goal_age < numbers.goal_steps)
    goal = jnp.where(keeps, memory.goal, choose_goal(counts, memory.seen, reach, here, costs))
    age = jnp.where(keeps, memory.goal_age, 0)
    way = toward(goal, reach, here, costs[here % plan.n_monitor_states], 0.5 * (1.0 - numbers.goal_discount))
    action = jnp.where(exploring, jnp.where(slips, anything, way), greedy)
    reached = goal == here * plan.n_actions + action
    return Choice(action, exploring, jnp.where(exploring & ~reached, goal, -1), age + 1)


def goal_counts(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> jax.Array:
    """The counts [goals, A] from which goals are chosen; impossible actions count as visited infinitely often."""
    counts = memory.visits
    if plan.pooled:
        enough = ratio(step, numbers.beta_bar)
        varies = memory.varies & (numbers.squared_radius == 0.0)  # codes of a region always vary
        sizes = plan.n_monitor_states, plan.n_env_actions
        counts = pooled(counts, memory.reward_visits, memory.shown, enough, varies, *sizes)
    return jnp.where(possible(plan, numbers), counts, jnp.iinfo(jnp.int32).max)


def mean_costs(plan: Plan, memory: Memory) -> jax.Array:
    """The mean monitor cost [monitor states, A] of every joint action so far; 0 if never taken, or if all are alike."""
    shape = -1, plan.n_monitor_states, plan.n_env_actions, plan.n_actions // plan.n_env_actions
    taken = memory.visits.reshape(shape).sum((0, 2))
    costs = -memory.earned.reshape(taken.shape) / jnp.maximum(taken, 1) * plan.pooled
    return jnp.tile(costs, plan.n_env_actions)


def learn(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> Memory:
    """One update of all networks from replay, after `step` + 1 steps."""
    keys = jax.random.split(jax.random.fold_in(memory.key, 2 * step + 1))
    history, visits, past = memory.history, memory.visits.ravel(), jnp.arange(plan.steps) <= step
    chosen = draw(keys[0], weights(history.pair, visits, past, numbers.balance), plan.batch)
    known = history.known & past
    rewarded = draw(keys[1], weights(history.env_pair, memory.reward_visits, known, numbers.balance), plan.batch)

    def pictures(rows: jax.Array, clocks: jax.Array) -> jax.Array:
        return scaled(memory.codes, jax.vmap(partial(picture, numbers, memory.key))(rows, clocks))

    batch = jax.tree.map(lambda array: array[chosen], history)
    shown = pictures(batch.picture, chosen)
    inputs = joined(plan, shown, batch.monitor)
    after = pictures(batch.next_picture, jnp.where(batch.ended, plan.steps + 1, 1) + chosen)
    next_inputs = joined(plan, after, batch.next_monitor)
    env_actions = batch.action // (plan.n_actions // plan.n_env_actions)

    ever = memory.reward_visits[batch.env_pair] > 0
    modelled = modelled_rewards(
        memory.networks["reward"], shown, env_actions, ever, numbers.minimum_reward, numbers.reward_bins
    )
    rewards = jnp.where(numbers.uses_model > 0.0, modelled, batch.env_reward)
    rewards += batch.monitor_reward + numbers.bonus / jnp.sqrt(jnp.maximum(visits[batch.pair], 1))
    discounts = jnp.where(batch.terminated, 0.0, numbers.discount)
    allowed = possible(plan, numbers)
    q_networks = memory.networks["q"], memory.slow["q"]
    targets = q_targets(*q_networks, rewards, next_inputs, discounts, allowed, numbers.q_bins)
    used = jnp.where(batch.known, 1.0, 1.0 - numbers.ignores)

    seen_pictures = pictures(history.picture[rewarded], rewarded)
    seen_actions = history.action[rewarded] // (plan.n_actions // plan.n_env_actions)
    seen_rewards, any_known = history.env_reward[rewarded], jnp.full(plan.batch, known.any(), jnp.float32)
    goal_targets = None
    if plan.directed:
        goal_targets = reach_targets(
            memory.slow["reach"], next_inputs, batch.next_goal, batch.terminated, numbers.goal_discount, allowed
        )

    def total(networks: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
        losses = [
            q_loss(networks["q"], inputs, batch.action, targets, used, numbers.q_bins),
            reward_loss(
                networks["reward"], seen_pictures, seen_actions, seen_rewards, any_known, numbers.reward_bins
            ),
            reach_loss(networks["reach"], inputs, batch.action, goal_targets, memory.seen, allowed)
            if plan.directed else jnp.zeros(()),
        ]  # fmt: skip
        return sum(losses, jnp.zeros(())), jnp.stack(losses)

    gradient, losses = jax.grad(total, has_aux=True)(memory.networks)
    direction, moments = optax.scale_by_adam().update(gradient, memory.moments)
    decay = (1.0 + jnp.cos(jnp.pi * step / plan.steps)) / 2.0
    rate = numbers.learning_rate * (numbers.last_learning_rate + (1.0 - numbers.last_learning_rate) * decay)
    networks = jax.tree.map(lambda value, change: value - rate * change, memory.networks, direction)
    slow = {
        name: jax.tree.map(lambda old, new: old + numbers.tracking * (new - old), layers, networks[name])
        for name, layers in memory.slow.items()
    }
    return memory._replace(networks=networks, slow=slow, moments=moments, loss=losses)


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
    next_code, codes = encode(memory.codes, after, numbers.squared_radius)
    fresh, fresh_codes = encode(codes, picture(numbers, memory.key, seen.start, step + 1), numbers.squared_radius)
    code = jnp.where(seen.ended, fresh, next_code)
    codes = jax.tree.map(lambda new, old: jnp.where(seen.ended, new, old), fresh_codes, codes)

    here = memory.code * plan.n_monitor_states + monitor
    known = seen.observed | (numbers.sees_everything > 0.0)
    env_action, monitor_action = jnp.divmod(choice.action, plan.n_actions // plan.n_env_actions)
    env_pair = memory.code * plan.n_env_actions + env_action
    monitor_pair = monitor * (plan.n_actions // plan.n_env_actions) + monitor_action
    before, reward = memory.first_code[env_pair], memory.first_reward[env_pair]
    first_code, first_reward = (
        jnp.where(before < 0, next_code, before),
        jnp.where(jnp.isnan(reward) & known, seen.env_reward, reward),
    )
    varies = (first_code != next_code) | (known & (first_reward != seen.env_reward))
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
    return memory._replace(
        history=jax.tree.map(lambda array, value: array.at[step].set(value), memory.history, entry),
        codes=codes,
        visits=memory.visits.at[here, choice.action].add(1),
        reward_visits=memory.reward_visits.at[env_pair].add(known.astype(jnp.int32)),
        first_code=memory.first_code.at[env_pair].set(first_code.astype(jnp.int32)),
        first_reward=memory.first_reward.at[env_pair].set(first_reward),
        varies=memory.varies.at[env_pair].max(varies),
        shown=memory.shown.at[monitor_pair].add(known.astype(jnp.int32)),
        earned=memory.earned.at[monitor_pair].add(seen.monitor_reward),
        code=code.astype(jnp.int32),
        goal=jnp.where(seen.ended, -1, choice.goal),
        goal_age=choice.goal_age,
    )


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
    return memory._replace(state=state, elapsed=jnp.where(ended, 0, elapsed), episode=memory.episode + ended)


@partial(jax.jit, static_argnums=0, donate_argnums=4)
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


@partial(jax.jit, static_argnums=0)
def read(plan: Plan, numbers: Numbers, device: Device, memories: Memory, step: jax.Array) -> Reading:
    """The action values of all states, from their pictures without noise, and what else is recorded.

    Target networks are averages of the networks over updates, so their greedy policies change less by chance.
    """

    def one(numbers: Numbers, device: Device, memory: Memory) -> Reading:
        pictures = scaled(memory.codes, numbers.observations)
        inputs = joined(plan, pictures[device.env_state], device.monitor_state)
        beta: Any = jnp.nan
        if plan.directed:
            beta = ratio(step, least_visits(goal_counts(plan, numbers, memory, step), memory.seen))
        return Reading(
            q_values(memory.slow["q"], inputs, numbers.q_bins),
            q_values(memory.networks["reward"], pictures, numbers.reward_bins),
            jnp.where(memory.seen.any(), beta, jnp.nan),
            memory.loss,
        )

    return jax.vmap(one)(numbers, device, memories)
