"""The goal of exploration and the rule when to explore (the paper's Algorithm 1, with a network in place of tables).

goal = among the pairs (g, a) with the smallest n(g, a), one with the largest max_b Ŝ(o, b; g), of these the cheapest
β = log(t + 2) / n(goal); the agent explores while β > β̄
only goals within reach are chosen, to which steps so far lead from here, if one of them has β > β̄: others wait for
another episode, and a goal that gets out of reach is given up for another one
toward the goal: a if the agent is in g, else of all b with Ŝ(o, b; g) ≥ (1 − δ) max Ŝ the cheapest, and of these one
with the largest Ŝ; δ = (1 − γ_S) / 2, half a step. Ŝ is wrong at first, so an action counts for less each time that it
was taken here since the last goal was reached, and for little if it is known to change nothing.

n = N(g, a), or pooled over what pairs share, since environment and monitor can be learned apart. With g = (c, s_M),
n(g, a) = min{κ N(c, s_M, a_E), N(c, a_E), N(s_M, a_M), answers(c, a_E)}
answers(c, a_E) = max{κ N_R(c, a_E), T(c, a_E)}, with N_R rewards observed and T visits with monitor pairs that ever
showed a reward; infinite if it is enough, that is log(t + 2) / β̄, or if the monitor pair of (g, a) never showed one;
½ for a pair that was visited and not asked about, so that new pairs are visited first
A pair (c, a_E) varies if its next picture or its reward did. Chance needs more answers, and a place that is reached
by chance may be missed: κ = 1 for such a pair.
While what the monitor does has not varied for any (s_M, a_M), it does not depend on c: N(c, s_M, a_E) does not count.
The way to a monitor state is planned: Ŝ(o, a; g) = E M(s_M′, s_M) Ŝ(o, a_E; c), where s_M′ follows a, M(s, s) = 1 and
else M(s, s_M) = γ_S max_b Σ_s′ P̂(s′ | s, b) M(s′, s_M). P̂ is what usually followed a monitor pair (s, b) or, if what
the monitor does after it varies for some joint pair, how often. If M is 0, as from a button that is off, the way leads
through a place where something else followed (`apart`).
If the monitor has several states, N(c, a_E) leaves out steps with (s_M, a_M) after which no episode ever went on, since
what followed was never explored, and does not count for goals with such a monitor pair.
In live training, a goal that is not reached counts as visited, n(g, a) + M(g, a_E), with M how often it was missed;
goals may be out of reach, and pairs that are not asked about at once may not come back, so they count 0.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

#: κ: a visit in a monitor state, or an observed reward, counts as this number of visits.
WEIGHT = 10
#: What a pair counts for that was visited, and whose reward was never asked for.
UNANSWERED = 0.5
#: Ŝ of an action toward a goal is multiplied by these: for each time it was taken before, and if it changes nothing.
AGAIN, IN_VAIN = 0.9, 0.1
#: A step that changes the monitor state takes this part of a step longer: of two ways, the one without is nearer.
CHANGE = 0.1
#: What a way through a place where the monitor changes counts for, beside one that needs no such place.
ELSEWHERE = 0.1
#: Costs decide between goals that are equally close up to this.
SMALLEST = 1e-3


def least_visits(counts: jax.Array, seen: jax.Array) -> jax.Array:
    """The smallest count [] of pairs [goals, A] in states that were seen [goals]."""
    return jnp.where(seen[:, None], counts, jnp.inf).min()


def ratio(step: jax.Array, least: jax.Array) -> jax.Array:
    """β of a step; infinite if a pair was never visited."""
    return jnp.log(step + 2.0) / least


def closeness_of(reach: jax.Array, here: jax.Array) -> jax.Array:
    """max_b Ŝ(o, b; g) [goals], from Ŝ [A, goals]; 1 for the goal that the agent is in, which it has reached."""
    return jnp.where(jnp.arange(reach.shape[1]) == here, 1.0, reach.max(0))


def choose_goal(
    counts: jax.Array, seen: jax.Array, near: jax.Array, closeness: jax.Array, costs: jax.Array, enough: jax.Array
) -> jax.Array:
    """The goal pair; near [goals]: those within reach; costs [monitor states, A]; enough: from this count on, a
    pair need not be a goal."""
    near &= seen
    seen = jnp.where(least_visits(counts, near) < enough, near, seen)
    rarest = (counts == least_visits(counts, seen)) & seen[:, None]
    cheap = SMALLEST * costs / jnp.maximum(jnp.abs(costs).max(), 1e-9)
    scores = closeness[:, None] - jnp.tile(cheap, (len(seen) // len(costs), 1))
    return jnp.where(rarest, scores, -jnp.inf).argmax()


def kept(goal: jax.Array, age: jax.Array, most_steps: jax.Array, near: jax.Array, n_actions: int) -> jax.Array:
    """Whether the agent keeps its goal pair: if it has one, for less than most_steps, while it is near [goals]."""
    return (goal >= 0) & (age < most_steps) & near[goal // n_actions]


def with_way(leads: jax.Array, code: jax.Array, following: jax.Array) -> jax.Array:
    """Which codes lead to which [codes, codes], if a step leads from one code to another too."""
    return leads | (leads[:, code][:, None] & leads[following])


def discouraged(reach: jax.Array, tries: jax.Array, in_vain: jax.Array) -> jax.Array:
    """Ŝ [A, goals], less for actions that were tried before; tries [A]: how often; in_vain [A]: they change nothing."""
    return reach * jnp.where(in_vain, IN_VAIN, AGAIN**tries)[:, None]


def toward(goal: jax.Array, reach: jax.Array, here: jax.Array, costs: jax.Array, slack: jax.Array) -> jax.Array:
    """The action toward a goal pair; costs [A]: those of actions here; slack: δ."""
    state, action = goal // reach.shape[0], goal % reach.shape[0]
    near = reach[:, state]
    close = near >= (1.0 - slack) * near.max()
    cheapest = close & (costs <= jnp.where(close, costs, jnp.inf).min())
    return jnp.where(state == here, action, jnp.where(cheapest, near, -1.0).argmax())


class MonitorModel(NamedTuple):
    """What is known of a monitor.

    after [codes, s, environment actions, actions]: what followed joint pairs, -1 if nothing did; usual [s, actions]:
    what followed most of them; varies [s, actions]: whether it is left to chance; chances [s, actions, s]: P̂.
    """

    after: jax.Array
    usual: jax.Array
    varies: jax.Array
    chances: jax.Array


def monitor_model(after: jax.Array, varies: jax.Array, followed: jax.Array) -> MonitorModel:
    """The model by what followed joint pairs, whether it varied, and how often [s, actions, s] states followed."""
    states, by_chance = jnp.arange(after.shape[1]), varies.any((0, 2))
    known = (after[..., None] == states).sum((0, 2))
    usual = jnp.where(known.any(-1), known.argmax(-1), -1)
    shares = followed / jnp.maximum(followed.sum(-1, keepdims=True), 1)
    return MonitorModel(after, usual, by_chance, jnp.where(by_chance[..., None], shares, usual[..., None] == states))


def monitor_reach(chances: jax.Array, discount: jax.Array) -> jax.Array:
    """M [s, s]: how near monitor states are to each other by paths of at most as many steps as there are states."""
    near = jnp.eye(len(chances))
    for _ in range(len(chances) - 1):
        near = jnp.maximum(near, discount * (chances[..., None] * near).sum(2).max(1))
    return near


def apart(reach: jax.Array, code: jax.Array, monitor: jax.Array, model: MonitorModel, discount: jax.Array) -> jax.Array:
    """Ŝ [A, goals] in a code and monitor state, from Ŝ of codes alone [environment actions, codes]; discount: γ_S."""
    near, states, outcomes = (
        monitor_reach(model.chances, discount),
        jnp.arange(len(model.usual)),
        model.after[:, monitor],
    )
    certain = (outcomes >= 0) & ~model.varies[monitor]
    following = jnp.where(certain[code][..., None], outcomes[code][..., None] == states, model.chances[monitor])
    onward = (following[..., None] * near).sum(2)  # [environment actions, actions, s]
    stays = following[..., monitor] == 1.0
    onward *= jnp.where(stays, 1.0, discount**CHANGE)[..., None]
    direct = reach[:, None, :, None] * onward[:, :, None, :]
    unusual = certain & (outcomes != model.usual[monitor])
    leads = (unusual[..., None] & (outcomes[..., None] == states)).any((1, 2))  # [codes, s]
    leads = (leads[..., None] * near).max(1)
    way = ELSEWHERE * (reach[..., None] * leads).max(1)  # [environment actions, s]
    way = jnp.where((near[monitor] == 0.0) & (leads[code] == 0.0), way, 0.0)
    return jnp.maximum(direct, way[:, None, None]).reshape(following[..., 0].size, -1)


def pooled(
    visits: jax.Array,
    reward_visits: jax.Array,
    shown: jax.Array,
    enough: jax.Array,
    varies: jax.Array,
    joint: jax.Array,
    goes_on: jax.Array,
    unanswered: float,
    n_monitor_states: int,
    n_env_actions: int,
) -> jax.Array:
    """Pooled counts [goals, A] from visits [goals, A] and rewards observed by environment and monitor pair [pairs].

    enough: the number of answers that is; varies [environment pairs]; joint: whether monitor and environment are
    explored jointly; goes_on [monitor pairs]: whether an episode ever went on after them, or the monitor has one state;
    unanswered: what a pair counts for that was visited, and whose reward was never asked for.
    """
    parts = visits.reshape(-1, n_monitor_states, n_env_actions, visits.shape[1] // n_env_actions)
    in_state, monitor = parts.sum(3, keepdims=True), parts.sum((0, 2), keepdims=True)
    shows, counted = (shown > 0).reshape(monitor.shape), (goes_on | ~goes_on.any()).reshape(monitor.shape)
    env = (parts * counted).sum((1, 3), keepdims=True)
    tries = (parts * shows).sum((1, 3), keepdims=True)
    varies = varies.reshape(env.shape)
    weight = jnp.where(varies, 1, WEIGHT)
    answers = jnp.maximum(weight * reward_visits.reshape(env.shape), tries)
    answers = jnp.maximum(answers, unanswered * (env > 0))
    counts = jnp.minimum(jnp.where(counted, env, monitor), monitor)
    counts = jnp.minimum(counts, jnp.where(joint, weight * in_state, counts))
    return jnp.where(shows & (answers < enough), jnp.minimum(counts, answers), counts).reshape(visits.shape)
