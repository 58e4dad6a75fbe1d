"""The loop of all agents with networks: observe, act, step, remember, count, learn. Pure functions over one memory.

x = (o, monitor state as a unit vector);  loss = loss_Q + loss_R̂ (+ loss_Ŝ) (+ loss_f̂), each with its own network
θ ← θ − α_t Adam(∇ loss),  α_t = α (c + (1 − c) (1 + cos(π t / T)) / 2);  θ⁻ ← θ⁻ + τ (θ − θ⁻) for Q and Ŝ

A reward that was not observed enters the memory as 0 with known = False, except for agents that see everything.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from monmdp.deep.codes import Codes, encode, new_codes, scale
from monmdp.deep.ensemble import masks, members, members_loss, smallest
from monmdp.deep.goals import choose_goal, least_visits, pooled, ratio, toward
from monmdp.deep.heads import near_zero
from monmdp.deep.networks import Layers, fixed_layers, new_layers
from monmdp.deep.novelty import bonuses, errors, updated
from monmdp.deep.reach import FIRST_LOGIT, reach_logits, reach_loss, reach_targets
from monmdp.deep.replay import History, draw, new_history, weights
from monmdp.deep.rewards import modelled_rewards, reward_loss
from monmdp.deep.values import best_action, double_targets, q_loss, q_targets, q_values
from monmdp.deep.world import Device, Draws, start_state, take_step

#: Parts of a run's random key for noise, networks that are never trained, masks and heads; steps have the others.
NOISE, FIXED, MASKS, HEADS = (2**31 - i for i in range(1, 5))


class Plan(NamedTuple):
    """What a program is compiled for: sizes, and what the agent has.

    directed: explores toward goals, by pooled counts if `pooled`. heads: those of Q with random priors, 0 for an
    ordinary Q. models: those of R̂ with random priors, of which the `smallest` estimates count; 0 for an ordinary R̂.
    features: those of a pair whose prediction measures novelty, 0 if counts do.
    live: whether the world is stepped on the host, has more states than codes, and may have goals that are hard to
    enter twice. Then missed goals count as visited, and actions of a monitor with one state differ only in their mean
    monitor rewards: steps teach all of them, and only for an answer that is a goal the agent takes one that costs more.
    """

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
    heads: int
    models: int
    smallest: int
    features: int
    live: bool = False

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
    prior_scale: Any
    share: Any
    uses_model: Any
    ignores: Any
    sees_everything: Any


class Memory(NamedTuple):
    """Everything that a run changes.

    networks, slow (target networks) and fixed (never trained; priors have the names of what they are added to): layers
    by name. code: that of the current picture. visits [goals, A]; reward_visits [codes * environment actions]: rewards
    observed; seen [goals]: whether the agent acted there. episode: its number.
    first_code, first_reward, varies [codes * environment actions]: what followed an environment pair first, and whether
    something else did later; -1 and NaN if nothing.
    shown, earned [monitor states * monitor actions]: rewards observed and the sum of monitor rewards there.
    missed [goals, environment actions], live: how often such a pair was the goal and was not reached.
    goal: a pair, -1 for none, since goal_age steps. novelty: moments of its errors, if there are any.
    loss: those of all networks at the last update.
    """

    key: jax.Array
    networks: dict[str, Any]
    slow: dict[str, Any]
    fixed: dict[str, Any]
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
    missed: jax.Array
    seen: jax.Array
    state: jax.Array
    code: jax.Array
    elapsed: jax.Array
    episode: jax.Array
    goal: jax.Array
    goal_age: jax.Array
    novelty: Any
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


def new_networks(
    plan: Plan, numbers: Numbers, keys: Sequence[jax.Array], own: jax.Array
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Networks that are trained, from three keys, and networks that never are, from the run's own key."""
    q_key, reward_key, reach_key = keys
    prior_key, novelty_key, predictor_key = jax.random.split(jax.random.fold_in(own, FIXED), 3)
    n_numbers, n_bins = numbers.observations.shape[1], len(numbers.q_bins)
    inputs, n_pair_features = n_numbers + plan.n_monitor_states, plan.n_actions * plan.features
    n_values, n_rewards = max(plan.heads, 1) * plan.n_actions, max(plan.models, 1) * plan.n_env_actions
    first_q, first_reward = (
        jnp.tile(near_zero(numbers.q_bins), n_values),
        jnp.tile(near_zero(numbers.reward_bins), n_rewards),
    )
    networks: dict[str, Any] = {
        "q": new_layers(q_key, inputs, plan.hidden, n_values * n_bins, first_q),
        "reward": new_layers(reward_key, n_numbers, plan.hidden, n_rewards * n_bins, first_reward),
    }
    fixed: dict[str, Any] = {}
    if plan.directed:
        outputs = plan.n_actions * plan.n_goals
        networks["reach"] = new_layers(reach_key, inputs, plan.hidden, outputs, FIRST_LOGIT)
    if plan.features:
        networks["predictor"] = new_layers(predictor_key, inputs, plan.hidden, n_pair_features)
        fixed["novelty"] = fixed_layers(novelty_key, inputs, plan.hidden, n_pair_features)
    if plan.heads:
        fixed["q"] = fixed_layers(prior_key, inputs, plan.hidden, n_values)
    if plan.models:
        fixed["reward"] = fixed_layers(prior_key, n_numbers, plan.hidden, n_rewards)
    return networks, fixed


def new_memory(plan: Plan, numbers: Numbers, device: Device, draws: Draws, key: jax.Array) -> Memory:
    """The memory of a run in a problem on the device before its first step."""
    memory, state = blank_memory(plan, numbers, key), start_state(device, draws.start[0])
    seen_first = picture(numbers, memory.key, device.env_state[state], memory.elapsed)
    code, codes = encode(memory.codes, seen_first, numbers.squared_radius)
    return memory._replace(codes=codes, code=code.astype(jnp.int32), state=state)


def blank_memory(plan: Plan, numbers: Numbers, key: jax.Array) -> Memory:
    """The memory of a run that has seen nothing."""
    own, *keys = jax.random.split(key, 4)
    networks, fixed = new_networks(plan, numbers, keys, own)
    zero, n_monitor_actions = jnp.zeros((), jnp.int32), plan.n_actions // plan.n_env_actions
    return Memory(
        key=own,
        networks=networks,
        slow={name: networks[name] for name in ("q", "reach") if name in networks},
        fixed=fixed,
        moments=optax.scale_by_adam().init(networks),
        history=new_history(plan.steps),
        codes=new_codes(plan.n_codes, numbers.observations.shape[1]),
        visits=jnp.zeros((plan.n_goals, plan.n_actions), jnp.int32),
        reward_visits=jnp.zeros(plan.n_codes * plan.n_env_actions, jnp.int32),
        first_code=jnp.full(plan.n_codes * plan.n_env_actions, -1, jnp.int32),
        first_reward=jnp.full(plan.n_codes * plan.n_env_actions, jnp.nan),
        varies=jnp.zeros(plan.n_codes * plan.n_env_actions, jnp.bool_),
        shown=jnp.zeros(plan.n_monitor_states * n_monitor_actions, jnp.int32),
        earned=jnp.zeros(plan.n_monitor_states * n_monitor_actions),
        missed=jnp.zeros((plan.n_goals if plan.live else 0, plan.n_env_actions), jnp.int32),
        seen=jnp.zeros(plan.n_goals, jnp.bool_),
        state=zero,
        code=zero,
        elapsed=zero,
        episode=zero + 1,
        goal=zero - 1,
        goal_age=zero,
        novelty=jnp.zeros(3) if plan.features else None,
        loss=jnp.zeros(len(networks)),
    )


def possible(plan: Plan, numbers: Numbers) -> jax.Array:
    """Whether an action is one of the problem's [A]."""
    return jnp.arange(plan.n_actions) < numbers.n_actions


def head_values(plan: Plan, numbers: Numbers, memory: Memory, layers: Layers, inputs: jax.Array) -> jax.Array:
    """Q of every head, [..., heads, A], by these layers."""
    return members(layers, memory.fixed["q"], numbers.prior_scale, inputs, numbers.q_bins, plan.heads)


def followed_values(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array) -> jax.Array:
    """Q [A] that the agent follows in this episode: of several heads, one."""
    if not plan.heads:
        return q_values(memory.networks["q"], inputs, numbers.q_bins)
    own = jax.random.fold_in(jax.random.fold_in(memory.key, HEADS), memory.episode)
    head = jax.random.randint(own, (), 0, plan.heads)
    return head_values(plan, numbers, memory, memory.networks["q"], inputs)[head]


def recorded_values(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array) -> jax.Array:
    """Q [..., A] of inputs [..., inputs], whose greedy policy is recorded: of several heads, their mean."""
    if plan.heads:
        return head_values(plan, numbers, memory, memory.slow["q"], inputs).mean(-2)
    return q_values(memory.slow["q"], inputs, numbers.q_bins)


def reward_values(plan: Plan, numbers: Numbers, memory: Memory, pictures: jax.Array) -> jax.Array:
    """R̂ [..., environment actions] of scaled pictures [..., D]: of several models, the mean of the smallest."""
    layers, bins = memory.networks["reward"], numbers.reward_bins
    if plan.models:
        estimates = members(layers, memory.fixed["reward"], numbers.prior_scale, pictures, bins, plan.models)
        return smallest(estimates, plan.smallest)
    return q_values(layers, pictures, bins)


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
    q = followed_values(plan, numbers, memory, inputs)
    greedy = best_action(q, allowed)
    if not plan.directed:
        return Choice(jnp.where(slips, anything, greedy), slips, memory.goal, memory.goal_age)
    counts, costs = goal_counts(plan, numbers, memory, step), mean_costs(plan, memory)
    exploring = ratio(step, least_visits(counts, memory.seen)) > numbers.beta_bar
    reach = jax.nn.sigmoid(reach_logits(memory.networks["reach"], inputs, allowed))
    n_monitor_actions = plan.n_actions // plan.n_env_actions
    if plan.live and plan.n_monitor_states == 1:  # what the monitor does makes no goal nearer, and no state better
        parts = reach.reshape(plan.n_env_actions, n_monitor_actions, -1)
        reach = jnp.broadcast_to(parts.max(1, keepdims=True), parts.shape).reshape(reach.shape)
        greedy = best_action(q, allowed & (costs[0] == costs.min()))
    keeps = (memory.goal >= 0) & (memory.goal_age < numbers.goal_steps)
    goal = jnp.where(keeps, memory.goal, choose_goal(counts, memory.seen, reach, here, costs))
    age = jnp.where(keeps, memory.goal_age, 0)
    way = toward(goal, reach, here, costs[here % plan.n_monitor_states], 0.5 * (1.0 - numbers.goal_discount))
    if plan.live:  # random moves ask no questions
        anything = anything - anything % n_monitor_actions + way % n_monitor_actions
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
    if plan.live:
        counts += jnp.repeat(memory.missed, plan.n_actions // plan.n_env_actions, 1)
    return jnp.where(possible(plan, numbers), counts, jnp.iinfo(jnp.int32).max)


def mean_costs(plan: Plan, memory: Memory) -> jax.Array:
    """The mean monitor cost [monitor states, A] of every joint action so far; 0 if never taken, or if all are alike."""
    shape = -1, plan.n_monitor_states, plan.n_env_actions, plan.n_actions // plan.n_env_actions
    taken = memory.visits.reshape(shape).sum((0, 2))
    costs = -memory.earned.reshape(taken.shape) / jnp.maximum(taken, 1) * plan.pooled
    return jnp.tile(costs, plan.n_env_actions)


class Batch(NamedTuple):
    """Steps from replay: their numbers [n] and entries, scaled pictures, and inputs of networks before and after."""

    chosen: jax.Array
    entries: History
    pictures: jax.Array
    inputs: jax.Array
    next_inputs: jax.Array


#: A function from the layers of a network to its loss.
Loss = Callable[[Layers], jax.Array]


def learn(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> Memory:
    """One update of all networks from replay, after `step` + 1 steps."""
    keys = jax.random.split(jax.random.fold_in(memory.key, 2 * step + 1))
    batch = new_batch(plan, numbers, memory, keys[0], step)
    bonus = numbers.bonus / jnp.sqrt(jnp.maximum(memory.visits.ravel()[batch.entries.pair], 1))
    losses: dict[str, Loss] = {"reward": reward_learning(plan, numbers, memory, keys[1], step)}
    if plan.features:

        def novelty(predictor: Layers) -> jax.Array:
            return errors(predictor, memory.fixed["novelty"], batch.inputs, batch.entries.action, plan.features)

        found = novelty(memory.networks["predictor"])
        memory = memory._replace(novelty=updated(memory.novelty, found))
        bonus = bonuses(found, memory.novelty, numbers.bonus)
        losses["predictor"] = lambda layers: novelty(layers).mean()
    losses["q"] = q_learning(plan, numbers, memory, batch, bonus)
    if plan.directed:
        losses["reach"] = reach_learning(plan, numbers, memory, batch)

    def total(networks: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
        parts = [losses[name](layers) for name, layers in networks.items()]
        return sum(parts, jnp.zeros(())), jnp.stack(parts)

    gradient, parts = jax.grad(total, has_aux=True)(memory.networks)
    direction, moments = optax.scale_by_adam().update(gradient, memory.moments)
    decay = (1.0 + jnp.cos(jnp.pi * step / plan.steps)) / 2.0
    rate = numbers.learning_rate * (numbers.last_learning_rate + (1.0 - numbers.last_learning_rate) * decay)
    networks = jax.tree.map(lambda value, change: value - rate * change, memory.networks, direction)
    slow = {
        name: jax.tree.map(lambda old, new: old + numbers.tracking * (new - old), layers, networks[name])
        for name, layers in memory.slow.items()
    }
    return memory._replace(networks=networks, slow=slow, moments=moments, loss=parts)


def replayed(numbers: Numbers, memory: Memory, rows: jax.Array, clocks: jax.Array) -> jax.Array:
    """Scaled pictures [n, D] of environment states at some moments, [n] each."""
    return scaled(memory.codes, jax.vmap(partial(picture, numbers, memory.key))(rows, clocks))


def new_batch(plan: Plan, numbers: Numbers, memory: Memory, key: jax.Array, step: jax.Array) -> Batch:
    """A batch of the steps so far."""
    history, past = memory.history, jnp.arange(plan.steps) <= step
    chosen = draw(key, weights(history.pair, memory.visits.ravel(), past, numbers.balance), plan.batch)
    entries = jax.tree.map(lambda array: array[chosen], history)
    if plan.live and plan.directed and plan.n_monitor_states == 1:
        entries = with_any_monitor_action(plan, memory, entries, jax.random.fold_in(key, 1))
    shown = replayed(numbers, memory, entries.picture, chosen)
    clocks = jnp.where(entries.ended, plan.steps + 1, 1) + chosen
    after = replayed(numbers, memory, entries.next_picture, clocks)
    inputs, next_inputs = joined(plan, shown, entries.monitor), joined(plan, after, entries.next_monitor)
    return Batch(chosen, entries, shown, inputs, next_inputs)


def with_any_monitor_action(plan: Plan, memory: Memory, entries: History, key: jax.Array) -> History:
    """Steps with other monitor actions, drawn at random, and their mean monitor rewards, for monitors with one state.

    Such a monitor's action changes the monitor reward only, so that all its actions can learn from every step.
    """
    n_monitor_actions = plan.n_actions // plan.n_env_actions
    taken = memory.visits.reshape(-1, n_monitor_actions).sum(0)
    drawn = jax.random.randint(key, entries.action.shape, 0, n_monitor_actions)
    own = entries.action % n_monitor_actions
    drawn = jnp.where(taken[drawn] > 0, drawn, own)
    means = memory.earned / jnp.maximum(taken, 1)
    return entries._replace(action=entries.action - own + drawn, monitor_reward=means[drawn])


def q_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch, bonus: jax.Array) -> Loss:
    """The loss of Q with rewards that are observed or modelled, and a bonus [n]."""
    entries, bins, allowed = batch.entries, numbers.q_bins, possible(plan, numbers)
    env_actions = entries.action // (plan.n_actions // plan.n_env_actions)
    if plan.models:
        modelled = reward_values(plan, numbers, memory, batch.pictures)[jnp.arange(plan.batch), env_actions]
    else:
        ever = memory.reward_visits[entries.env_pair] > 0
        modelled = modelled_rewards(
            memory.networks["reward"], batch.pictures, env_actions, ever, numbers.minimum_reward, numbers.reward_bins
        )
    rewards = jnp.where(numbers.uses_model > 0.0, modelled, entries.env_reward)
    rewards += entries.monitor_reward + bonus
    discounts = jnp.where(entries.terminated, 0.0, numbers.discount)
    used = jnp.where(entries.known, 1.0, 1.0 - numbers.ignores)
    if not plan.heads:
        both = memory.networks["q"], memory.slow["q"]
        targets = q_targets(*both, rewards, batch.next_inputs, discounts, allowed, bins)
        return lambda layers: q_loss(layers, batch.inputs, entries.action, targets, used, bins)
    q, slow = (
        head_values(plan, numbers, memory, each["q"], batch.next_inputs) for each in (memory.networks, memory.slow)
    )
    targets = double_targets(q, slow, rewards[:, None], discounts[:, None], allowed)
    own = used[:, None] * masks(jax.random.fold_in(memory.key, MASKS), batch.chosen, numbers.share, plan.heads)
    prior, scale = memory.fixed["q"], numbers.prior_scale
    return lambda layers: members_loss(layers, prior, scale, batch.inputs, entries.action, targets, own, bins)


def reward_learning(plan: Plan, numbers: Numbers, memory: Memory, key: jax.Array, step: jax.Array) -> Loss:
    """The loss of R̂, from a batch of the steps so far whose reward is known."""
    history, bins = memory.history, numbers.reward_bins
    known = history.known & (jnp.arange(plan.steps) <= step)
    chosen = draw(key, weights(history.env_pair, memory.reward_visits, known, numbers.balance), plan.batch)
    pictures = replayed(numbers, memory, history.picture[chosen], chosen)
    actions = history.action[chosen] // (plan.n_actions // plan.n_env_actions)
    rewards, any_known = history.env_reward[chosen], jnp.full(plan.batch, known.any(), jnp.float32)
    if not plan.models:
        return lambda layers: reward_loss(layers, pictures, actions, rewards, any_known, bins)
    targets, used = (jnp.tile(each[:, None], plan.models) for each in (rewards, any_known))
    prior, scale = memory.fixed["reward"], numbers.prior_scale
    return lambda layers: members_loss(layers, prior, scale, pictures, actions, targets, used, bins)


def reach_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch) -> Loss:
    """The loss of Ŝ."""
    entries, allowed = batch.entries, possible(plan, numbers)
    targets = reach_targets(
        memory.slow["reach"], batch.next_inputs, entries.next_goal, entries.terminated, numbers.goal_discount, allowed
    )
    return lambda layers: reach_loss(layers, batch.inputs, entries.action, targets, memory.seen, allowed)


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
    if plan.live:
        state, action = jnp.divmod(choice.goal, plan.n_actions)
        missed = (choice.goal >= 0) & (seen.ended | (choice.goal_age >= numbers.goal_steps))
        place = state, action // (plan.n_actions // plan.n_env_actions)
        memory = memory._replace(missed=memory.missed.at[place].add(missed.astype(jnp.int32)))
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
        episode=memory.episode + seen.ended,
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
    return memory._replace(state=state, elapsed=jnp.where(ended, 0, elapsed))


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
            recorded_values(plan, numbers, memory, inputs),
            reward_values(plan, numbers, memory, pictures),
            jnp.where(memory.seen.any(), beta, jnp.nan),
            memory.loss,
        )

    return jax.vmap(one)(numbers, device, memories)
