"""What a run consists of: its plan, numbers and memory, its networks before any update, and what networks see.

x = (o, κ e), with o scaled as in `codes`, e the unit vector of the monitor state, and κ = √D / 2 for D numbers in o: so
monitor states differ about as much as pictures do, of which ‖o‖² is D on average; κ = 1 if there is one monitor state.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from monmdp.deep.codes import Codes, ExactCodes, encode, encode_exact, new_codes, new_exact_codes, scale
from monmdp.deep.heads import near_zero
from monmdp.deep.networks import Layers, fixed_layers, new_layers
from monmdp.deep.reach import FIRST_LOGIT
from monmdp.deep.replay import History, new_history

#: Parts of a run's random key for noise, networks that are never trained, masks and heads; steps have the others.
NOISE, FIXED, MASKS, HEADS = (2**31 - i for i in range(1, 5))
#: How many of the last steps with a joint pair, and with an environment pair, are at hand.
PAIR_STEPS, ENV_PAIR_STEPS = 8, 128


class Plan(NamedTuple):
    """What a program is compiled for: sizes, and what the agent has.

    directed: explores toward goals, by pooled counts if `pooled`. heads: those of Q with random priors, 0 for an
    ordinary Q. models: those of R̂ with random priors, of which the `smallest` estimates count; 0 for an ordinary R̂.
    features: those of a pair whose prediction measures novelty, 0 if counts do.
    exact: whether every picture has its own code.
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
    exact: bool = False
    live: bool = False

    @property
    def pools(self) -> bool:
        """Whether steps with the same environment pair share what followed, which takes codes of single states."""
        return self.pooled and not self.live

    @property
    def n_goals(self) -> int:
        """The number of goals: codes and monitor states."""
        return self.n_codes * self.n_monitor_states

    @property
    def plans(self) -> bool:
        """Whether the way to monitor states is planned, apart from the way to codes."""
        return self.pools and self.n_monitor_states > 1

    @property
    def knows_ways(self) -> bool:
        """Whether the agent keeps in mind which codes lead to which, and what it tried on its way to a goal."""
        return self.directed and self.pools

    @property
    def reach_outputs(self) -> int:
        """Outputs of the reach network: codes for every environment action; if not pooled, goals for every action."""
        return self.n_env_actions * self.n_codes if self.pools else self.n_actions * self.n_goals


class Numbers(NamedTuple):
    """Options and facts that are only numbers; programs are compiled once for all of them.

    observations [rows, D]: inputs of networks (`observations`); rates [D + monitor states]: how fast weights learn,
    as multiples of others. pictures [rows]: the number of the picture in each row of observations; equal pictures have
    equal numbers. n_actions: the first of a program's actions are those of the problem, the others are never chosen.
    noise: None if there is none. uses_model, ignores, sees_everything: 1 for agents that put R̂ in the place of rewards,
    learn Q only from known rewards, or know hidden ones; else 0.
    """

    observations: Any
    rates: Any
    pictures: Any
    n_actions: Any
    noise: Any
    squared_radius: Any
    epsilon: Any
    learning_rate: Any
    last_learning_rate: Any
    balance: Any
    tracking: Any
    last_tracking: Any
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


class Outcomes(NamedTuple):
    """What followed each pair first [pairs], -1 and NaN if nothing did, and whether something else did later."""

    next: jax.Array
    reward: jax.Array
    varies: jax.Array


def no_outcomes(n_pairs: int) -> Outcomes:
    """Nothing followed yet."""
    return Outcomes(jnp.full(n_pairs, -1, jnp.int32), jnp.full(n_pairs, jnp.nan), jnp.zeros(n_pairs, jnp.bool_))


def with_outcome(outcomes: Outcomes, pair: jax.Array, following: jax.Array, reward: jax.Array) -> Outcomes:
    """Outcomes with what followed a pair; -1 and NaN for what is not known."""
    first, first_reward = outcomes.next[pair], outcomes.reward[pair]
    first = jnp.where(first < 0, following, first).astype(jnp.int32)
    first_reward = jnp.where(jnp.isnan(first_reward), reward, first_reward)
    differs = ((following >= 0) & (first != following)) | (~jnp.isnan(reward) & (first_reward != reward))
    return Outcomes(
        outcomes.next.at[pair].set(first),
        outcomes.reward.at[pair].set(first_reward),
        outcomes.varies.at[pair].max(differs),
    )


class Memory(NamedTuple):
    """Everything that a run changes.

    networks, slow (target networks) and fixed (never trained; priors have the names of what they are added to): layers
    by name. mean: those of Q, averaged over time. code: that of the current picture. visits [goals, A]; reward_visits
    [codes * environment actions]: rewards observed; seen [goals]: whether the agent acted there. episode: its number.
    env_outcomes [codes * environment actions]: codes and rewards after environment pairs. monitor_outcomes [monitor
    states * monitor actions]: monitor states, of steps after which the episode goes on, and monitor rewards;
    pair_outcomes [goals * A]: monitor states and rewards after joint pairs, if the monitor has several states.
    followed [monitor states * monitor actions, monitor states]: how often monitor states followed, while the episode
    went on.
    weights, reward_weights [steps]: those of steps in replay, and of their rewards in that of R̂, if known.
    steps_of_pair [goals * A, n], steps_of_env_pair [codes * environment actions, n]: the last n steps with a pair.
    shown, earned [monitor states * monitor actions]: rewards observed and the sum of monitor rewards there.
    missed [goals, environment actions], live: how often such a pair was the goal and was not reached.
    leads [codes, codes]: whether steps so far lead from one to the other. tries [codes * environment actions]: how
    often a pair was taken toward goals in this episode, since one was reached last.
    goal: a pair, -1 for none, since goal_age steps. novelty: moments of its errors, if there are any.
    loss: those of all networks at the last update.
    """

    key: jax.Array
    networks: dict[str, Any]
    slow: dict[str, Any]
    mean: Layers
    fixed: dict[str, Any]
    moments: Any
    history: History
    weights: jax.Array
    reward_weights: jax.Array
    codes: Any  # Codes or ExactCodes
    visits: jax.Array
    reward_visits: jax.Array
    env_outcomes: Outcomes
    monitor_outcomes: Outcomes
    pair_outcomes: Outcomes
    followed: jax.Array
    steps_of_pair: jax.Array
    steps_of_env_pair: jax.Array
    shown: jax.Array
    earned: jax.Array
    missed: jax.Array
    seen: jax.Array
    leads: jax.Array
    tries: jax.Array
    state: jax.Array
    code: jax.Array
    elapsed: jax.Array
    episode: jax.Array
    goal: jax.Array
    goal_age: jax.Array
    novelty: Any
    loss: jax.Array


def new_networks(
    plan: Plan, numbers: Numbers, keys: Sequence[jax.Array], own: jax.Array
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Networks that are trained, from three keys, and networks that never are, from the run's own key."""
    q_key, reward_key, reach_key = keys
    prior_key, novelty_key, predictor_key = jax.random.split(jax.random.fold_in(own, FIXED), 3)
    n_numbers = numbers.observations.shape[1]
    inputs, n_pair_features = n_numbers + plan.n_monitor_states, plan.n_actions * plan.features
    n_values, n_rewards = max(plan.heads, 1) * plan.n_actions, max(plan.models, 1) * plan.n_env_actions
    first_q, first_reward = (
        jnp.tile(near_zero(numbers.q_bins), n_values),
        jnp.tile(near_zero(numbers.reward_bins), n_rewards),
    )
    networks: dict[str, Any] = {
        "q": new_layers(q_key, inputs, plan.hidden, len(first_q), first_q),
        "reward": new_layers(reward_key, n_numbers, plan.hidden, len(first_reward), first_reward),
    }
    fixed: dict[str, Any] = {}
    if plan.directed:
        reach_inputs = n_numbers if plan.pools else inputs
        networks["reach"] = new_layers(reach_key, reach_inputs, plan.hidden, plan.reach_outputs, FIRST_LOGIT)
    if plan.features:
        networks["predictor"] = new_layers(predictor_key, inputs, plan.hidden, n_pair_features)
        fixed["novelty"] = fixed_layers(novelty_key, inputs, plan.hidden, n_pair_features)
    if plan.heads:
        fixed["q"] = fixed_layers(prior_key, inputs, plan.hidden, n_values)
    if plan.models:
        fixed["reward"] = fixed_layers(prior_key, n_numbers, plan.hidden, n_rewards)
    return networks, fixed


def blank_memory(plan: Plan, numbers: Numbers, key: jax.Array) -> Memory:
    """The memory of a run that has seen nothing."""
    own, *keys = jax.random.split(key, 4)
    networks, fixed = new_networks(plan, numbers, keys, own)
    zero, n_monitor_actions = jnp.zeros((), jnp.int32), plan.n_actions // plan.n_env_actions
    n_rows, n_numbers = numbers.observations.shape
    return Memory(
        key=own,
        networks=networks,
        slow={name: networks[name] for name in ("q", "reward", "reach") if name in networks},
        mean=networks["q"],
        fixed=fixed,
        moments=optax.scale_by_adam().init(networks),
        history=new_history(plan.steps),
        weights=jnp.zeros(plan.steps),
        reward_weights=jnp.zeros(plan.steps),
        codes=new_exact_codes(n_rows, n_numbers) if plan.exact else new_codes(plan.n_codes, n_numbers),
        visits=jnp.zeros((plan.n_goals, plan.n_actions), jnp.int32),
        reward_visits=jnp.zeros(plan.n_codes * plan.n_env_actions, jnp.int32),
        env_outcomes=no_outcomes(plan.n_codes * plan.n_env_actions),
        monitor_outcomes=no_outcomes(plan.n_monitor_states * n_monitor_actions),
        pair_outcomes=no_outcomes(plan.n_goals * plan.n_actions * plan.plans),
        followed=jnp.zeros((plan.n_monitor_states * n_monitor_actions, plan.n_monitor_states), jnp.int32),
        steps_of_pair=jnp.zeros((plan.n_goals * plan.n_actions * plan.pools, PAIR_STEPS), jnp.int32),
        steps_of_env_pair=jnp.zeros((plan.n_codes * plan.n_env_actions * plan.pools, ENV_PAIR_STEPS), jnp.int32),
        shown=jnp.zeros(plan.n_monitor_states * n_monitor_actions, jnp.int32),
        earned=jnp.zeros(plan.n_monitor_states * n_monitor_actions),
        missed=jnp.zeros((plan.n_goals if plan.live else 0, plan.n_env_actions), jnp.int32),
        seen=jnp.zeros(plan.n_goals, jnp.bool_),
        leads=jnp.eye(plan.n_codes * plan.knows_ways, dtype=jnp.bool_),
        tries=jnp.zeros(plan.n_codes * plan.n_env_actions * plan.knows_ways, jnp.int32),
        state=zero,
        code=zero,
        elapsed=zero,
        episode=zero + 1,
        goal=zero - 1,
        goal_age=zero,
        novelty=jnp.zeros(3) if plan.features else None,
        loss=jnp.zeros(len(networks)),
    )


def picture(numbers: Numbers, key: jax.Array, row: jax.Array, clock: jax.Array) -> jax.Array:
    """The observation [D] of an environment state with the noise of a moment; the same moment has the same noise."""
    clean: jax.Array = numbers.observations[row]
    if numbers.noise is None:
        return clean
    own = jax.random.fold_in(jax.random.fold_in(key, NOISE), clock)
    return clean + numbers.noise * jax.random.normal(own, clean.shape)


def encoded(
    numbers: Numbers, codes: Codes | ExactCodes, row: jax.Array, observation: jax.Array
) -> tuple[jax.Array, Codes | ExactCodes]:
    """The code of an observation [D] of an environment state, and the codes with it."""
    if isinstance(codes, ExactCodes):
        return encode_exact(codes, observation, numbers.pictures[row].astype(jnp.int32))
    return encode(codes, observation, numbers.squared_radius)


def joined(plan: Plan, pictures: jax.Array, monitor: jax.Array) -> jax.Array:
    """Inputs of networks: scaled pictures [..., D] and monitor states [...] as multiples of unit vectors."""
    size = monitor_size(plan, pictures.shape[-1])
    return jnp.concatenate([pictures, size * jax.nn.one_hot(monitor, plan.n_monitor_states)], -1)


def pictures_of(plan: Plan, inputs: jax.Array) -> jax.Array:
    """Scaled pictures [..., D] of inputs of networks, without monitor states."""
    return inputs[..., : -plan.n_monitor_states]


def monitor_size(plan: Plan, n_numbers: int) -> float:
    """κ for pictures of n numbers."""
    return 0.5 * n_numbers**0.5 if plan.n_monitor_states > 1 else 1.0


def for_unit_vectors(layer: dict[str, Any], plan: Plan, n_numbers: int) -> dict[str, Any]:
    """A first layer for pictures of n numbers that takes monitor states as unit vectors."""
    weights = np.array(layer["weights"])
    weights[n_numbers:] *= monitor_size(plan, n_numbers)
    return {**layer, "weights": weights}


def scaled(codes: Codes | ExactCodes, pictures: jax.Array) -> jax.Array:
    """Pictures [..., D] as networks see them."""
    mean, factor = scale(codes)
    return (pictures - mean) * factor


def possible(plan: Plan, numbers: Numbers) -> jax.Array:
    """Whether an action is one of the problem's [A]."""
    return jnp.arange(plan.n_actions) < numbers.n_actions


def env_possible(plan: Plan, numbers: Numbers) -> jax.Array:
    """Whether an action is one of the problem's environment [environment actions]."""
    return possible(plan, numbers)[:: plan.n_actions // plan.n_env_actions]


def env_visits(plan: Plan, visits: jax.Array) -> jax.Array:
    """Visits [codes * environment actions] of environment pairs, from those of joint pairs [goals, A]."""
    parts = visits.reshape(plan.n_codes, plan.n_monitor_states, plan.n_env_actions, -1)
    return parts.sum((1, 3)).ravel()
