"""A model in two factors, learned from counts: what the environment does, and what the monitor does.

P̂(s′ | s,a) = (1 − P̂(end | s,a)) · P̂E(sE′ | sE,aE) · P̂M(sM′ | s,a)
P̂E is pooled over all monitor states and actions, since the environment does not know the monitor. P̂M and
P̂(end) are pooled over the environment and over the monitor respectively, except for pairs whose own counts
contradict the pool: these stand apart. A known monitor takes the place of P̂M.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monmdp.agents.known_monitor import KnownMonitor, experienced, known_monitor, unknown_monitor
from monmdp.agents.transitions import Transitions, new_transitions, note_transition
from monmdp.kernels.compile import kernel
from monmdp.problem import Booleans, Floats, Integers
from monmdp.world import World

#: A pair stands apart when twice the log of the likelihood ratio exceeds this for each outcome known.
SURPRISE = 4.0


class FactoredModel(NamedTuple):
    """Counts; a *row* is an environment pair, or a joint pair where the environment is not pooled.

    joint [SE * SM]: the joint state of an environment and a monitor state, -1 for none.
    tries [row]; moves: next environment states of rows; ends [row, 2]: (went on, ended), without pairs apart.
    own_ends [pair, 2], ends_apart [pair]; own_moves [pair, SM], moves_apart [pair]: the same by joint pair.
    A *context* is a monitor state and action: pooled_moves [context, SM], without pairs apart; context_visits and
    shown [context]: how often it was met, and how often it showed a reward.
    own_reward [pair] and pooled_reward [context]: mean monitor reward. own_visits [pair].
    outcome_counts go with a known monitor's environment outcomes. changes [1] counts structural news.
    """

    env_state: Integers
    monitor_state: Integers
    joint: Integers
    tries: Integers
    moves: Transitions
    ends: Integers
    own_visits: Integers
    own_ends: Integers
    ends_apart: Booleans
    own_moves: Integers
    moves_apart: Booleans
    pooled_moves: Integers
    context_visits: Integers
    shown: Integers
    own_reward: Floats
    pooled_reward: Floats
    known: KnownMonitor
    outcome_counts: Integers
    changes: Integers
    n_actions: int
    n_env_actions: int
    n_monitor_actions: int
    n_monitor_states: int
    pools_environment: bool
    pools_monitor: bool
    knows_monitor: bool


def new_factored_model(
    world: World, steps: int, pools_environment: bool, pools_monitor: bool, knows_monitor: bool
) -> FactoredModel:
    """Nothing counted yet."""
    pairs, n_monitor = world.n_states * world.n_actions, world.n_monitor_states
    rows = world.n_env_pairs if pools_environment else pairs
    contexts = n_monitor * world.n_monitor_actions
    joint = np.full(world.n_env_states * n_monitor, -1, np.int64)
    joint[world.env_state.astype(np.int64) * n_monitor + world.monitor_state] = np.arange(world.n_states)
    known = known_monitor(world) if knows_monitor else unknown_monitor()
    room = 0 if knows_monitor else min(steps, transitions_of(world, pools_environment))
    return FactoredModel(
        env_state=world.env_state,
        monitor_state=world.monitor_state,
        joint=joint,
        tries=np.zeros(rows, np.int64),
        moves=new_transitions(rows, world.n_env_states, room),
        ends=np.zeros((rows, 2), np.int64),
        own_visits=np.zeros(pairs, np.int64),
        own_ends=np.zeros((pairs, 2), np.int64),
        ends_apart=np.zeros(pairs, np.bool_),
        own_moves=np.zeros((pairs, n_monitor), np.int64),
        moves_apart=np.zeros(pairs, np.bool_),
        pooled_moves=np.zeros((contexts, n_monitor), np.int64),
        context_visits=np.zeros(contexts, np.int64),
        shown=np.zeros(contexts, np.int64),
        own_reward=np.zeros(pairs),
        pooled_reward=np.zeros(contexts),
        known=known,
        outcome_counts=np.zeros(len(known.env_next_state), np.int64),
        changes=np.zeros(1, np.int64),
        n_actions=world.n_actions,
        n_env_actions=world.n_actions // world.n_monitor_actions,
        n_monitor_actions=world.n_monitor_actions,
        n_monitor_states=n_monitor,
        pools_environment=pools_environment,
        pools_monitor=pools_monitor,
        knows_monitor=knows_monitor,
    )


def transitions_of(world: World, pools_environment: bool) -> int:
    """How many moves of the environment there are to be counted; only memory is sized by it."""
    if len(world.offsets) == 0:
        return world.n_env_pairs * world.n_env_states
    pair = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets))
    row = world.env_pair[pair] if pools_environment else pair
    return len(np.unique(row.astype(np.int64) * world.n_env_states + world.env_state[world.next_state]))


@kernel
def env_pair_of(model, state, action):
    """The environment pair of a joint state and action."""
    return model.env_state[state] * model.n_env_actions + action // model.n_monitor_actions


@kernel
def row_of(model, state, action):
    """Where the environment's counts of a joint state and action stand."""
    if model.pools_environment:
        return env_pair_of(model, state, action)
    return state * model.n_actions + action


@kernel
def context_of(model, state, action):
    """The monitor state and action of a joint state and action."""
    return model.monitor_state[state] * model.n_monitor_actions + action % model.n_monitor_actions


@kernel
def surprise(own, pooled, shared):
    """2 log of how much likelier own counts [K] are under their own rates than under those of the others.

    shared: whether the pooled counts [K] contain the own ones. The others' rates are smoothed by half a count.
    Returns the statistic, and how many outcomes are known.
    """
    total, others, known = 0.0, 0.0, 0
    for k in range(len(own)):
        rest = pooled[k] - own[k] if shared else pooled[k]
        total += own[k]
        others += rest
        known += own[k] > 0 or rest > 0
    if known < 2:
        return 0.0, known
    ratio = 0.0
    for k in range(len(own)):
        if own[k] > 0:
            rest = pooled[k] - own[k] if shared else pooled[k]
            ratio += 2.0 * own[k] * math.log(own[k] / total * (others + 0.5 * known) / (rest + 0.5))
    return ratio, known


@kernel
def count_outcome(own, pooled, apart, pair, outcome, changes):
    """One more outcome of a pair: own [pairs, K] and, unless it stands apart, pooled [K]."""
    own[pair, outcome] += 1
    if not apart[pair]:
        changes[0] += pooled[outcome] == 0
        pooled[outcome] += 1
    reconsider(own, pooled, apart, pair, changes)


@kernel
def reconsider(own, pooled, apart, pair, changes):
    """See whether a pair should stand apart."""
    ratio, known = surprise(own[pair], pooled, not apart[pair])
    differs = ratio > SURPRISE * known
    if differs != apart[pair]:
        apart[pair] = differs
        changes[0] += 1
        for k in range(len(pooled)):
            pooled[k] += -own[pair, k] if differs else own[pair, k]


@kernel
def learn_model(model, state, action, next_state, terminated, shown, monitor_reward):
    """Count one step."""
    pair, row, context = (
        state * model.n_actions + action,
        row_of(model, state, action),
        context_of(model, state, action),
    )
    model.tries[row] += 1
    model.own_visits[pair] += 1
    model.context_visits[context] += 1
    model.shown[context] += shown
    model.own_reward[pair] += (monitor_reward - model.own_reward[pair]) / model.own_visits[pair]
    model.pooled_reward[context] += (monitor_reward - model.pooled_reward[context]) / model.context_visits[context]
    model.changes[0] += model.tries[row] == 1
    if model.knows_monitor:
        after = model.env_state[next_state]
        outcome = experienced(model.known, pair, env_pair_of(model, state, action), after, next_state, terminated)
        if outcome >= 0:
            model.changes[0] += model.outcome_counts[outcome] == 0
            model.outcome_counts[outcome] += 1
        return
    count_outcome(model.own_ends, model.ends[row], model.ends_apart, pair, 1 if terminated else 0, model.changes)
    if not terminated:
        used = model.moves.used[0]
        note_transition(model.moves, row, model.env_state[next_state], False)
        model.changes[0] += model.moves.used[0] > used
        pooled, monitor_state = model.pooled_moves[context], model.monitor_state[next_state]
        count_outcome(model.own_moves, pooled, model.moves_apart, pair, monitor_state, model.changes)
    if is_power_of_two(model.context_visits[context]):
        reconsider_context(model, context)
    if is_power_of_two(model.tries[row]) and model.pools_environment:
        reconsider_ends(model, row)


@kernel
def is_power_of_two(count):
    """Whether a count has just doubled."""
    return count & (count - 1) == 0


@kernel
def reconsider_context(model, context):
    """What was one of few may have become an exception: look at all pairs of a context again."""
    monitor_state, monitor_action = context // model.n_monitor_actions, context % model.n_monitor_actions
    for env_state in range(len(model.joint) // model.n_monitor_states):
        state = model.joint[env_state * model.n_monitor_states + monitor_state]
        if state >= 0:
            for env_action in range(model.n_env_actions):
                pair = state * model.n_actions + env_action * model.n_monitor_actions + monitor_action
                if model.own_visits[pair] > 0:
                    reconsider(model.own_moves, model.pooled_moves[context], model.moves_apart, pair, model.changes)


@kernel
def reconsider_ends(model, env_pair):
    """The same for ends of episodes, over all joint pairs of an environment pair."""
    env_state, env_action = env_pair // model.n_env_actions, env_pair % model.n_env_actions
    for monitor_state in range(model.n_monitor_states):
        state = model.joint[env_state * model.n_monitor_states + monitor_state]
        if state >= 0:
            for monitor_action in range(model.n_monitor_actions):
                pair = state * model.n_actions + env_action * model.n_monitor_actions + monitor_action
                if model.own_visits[pair] > 0:
                    reconsider(model.own_ends, model.ends[env_pair], model.ends_apart, pair, model.changes)


@kernel
def given(model, state, action):
    """What a known monitor pays and how likely it shows the reward, averaged over what the environment did so far.

    The chance is -1 where the environment has not done anything yet.
    """
    known, env_pair = model.known, env_pair_of(model, state, action)
    first, branch = known.first_outcome[env_pair], known.first_branch[state * model.n_actions + action]
    reward, chance, times = 0.0, 0.0, 0
    for outcome in range(first, known.first_outcome[env_pair + 1]):
        reward += model.outcome_counts[outcome] * known.monitor_reward[branch + outcome - first]
        chance += model.outcome_counts[outcome] * known.observe_probability[branch + outcome - first]
        times += model.outcome_counts[outcome]
    if times == 0:
        return 0.0, -1.0
    return reward / times, chance / times


@kernel
def predicted_reward(model, state, action):
    """Expected monitor reward of a pair about which something is known."""
    pair = state * model.n_actions + action
    if model.knows_monitor:
        reward, _ = given(model, state, action)
        return reward
    if model.own_visits[pair] > 0:
        return model.own_reward[pair]
    return model.pooled_reward[context_of(model, state, action)]


@kernel
def chance_shown(model, state, action):
    """The chance that a pair shows its reward; contexts never met are expected to, others by smoothed frequency."""
    if model.knows_monitor and state * model.n_actions + action < len(model.known.first_branch):
        _, chance = given(model, state, action)
        if chance >= 0.0:
            return chance
    context = context_of(model, state, action)
    return (model.shown[context] + 1.0) / (model.context_visits[context] + 1.0)


@kernel
def best_chance_shown(model):
    """The best chance of any context met so far to show a reward."""
    best = 0.0
    for context in range(len(model.shown)):
        if model.context_visits[context] > 0:
            best = max(best, (model.shown[context] + 1.0) / (model.context_visits[context] + 1.0))
    return best


@kernel
def outcomes_known(model, row):
    """In how many ways an environment pair has come out."""
    known = 0
    if model.knows_monitor:
        for outcome in range(model.known.first_outcome[row], model.known.first_outcome[row + 1]):
            known += model.outcome_counts[outcome] > 0
        return known
    node = model.moves.first[row]
    while node >= 0:
        known, node = known + 1, model.moves.following[node]
    return known + (model.ends[row, 1] > 0)


@kernel
def stays(model, row, env_state):
    """Whether all that an environment pair has ever done is to stay in its state."""
    if model.knows_monitor:
        for outcome in range(model.known.first_outcome[row], model.known.first_outcome[row + 1]):
            if model.outcome_counts[outcome] > 0 and (
                model.known.env_next_state[outcome] != env_state or model.known.env_terminated[outcome]
            ):
                return False
        return True
    node = model.moves.first[row]
    while node >= 0:
        if model.moves.next_state[node] != env_state:
            return False
        node = model.moves.following[node]
    return model.ends[row, 1] == 0


@kernel
def lay_out(model, states, bounds, chances, targets, ending):
    """Write what may follow the pairs of states [n]: pair (i, a) from bounds[i * A + a] on; bounds[0] is given.

    ending [n, A]: the chance that the episode ends, -1 where nothing is known about a pair. Unpacked once and called
    for many states, since handing the model over costs more than looking at a pair.
    """
    n_actions, n_monitor_actions, n_env_actions = model.n_actions, model.n_monitor_actions, model.n_env_actions
    env_state, monitor_state, joint, tries = model.env_state, model.monitor_state, model.joint, model.tries
    first, following = model.moves.first, model.moves.following
    next_state, times = model.moves.next_state, model.moves.times
    ends, own_ends, ends_apart = model.ends, model.own_ends, model.ends_apart
    own_moves, moves_apart, pooled_moves = model.own_moves, model.moves_apart, model.pooled_moves
    own_visits, context_visits, n_monitor = model.own_visits, model.context_visits, model.n_monitor_states
    pools_environment, pools_monitor = model.pools_environment, model.pools_monitor
    outcome_counts, first_outcome, first_branch = (
        model.outcome_counts,
        model.known.first_outcome,
        model.known.first_branch,
    )
    offsets, probability = model.known.offsets, model.known.probability
    known_next, terminated = model.known.next_state, model.known.terminated
    for i in range(len(states)):
        state = states[i]
        for action in range(n_actions):
            slot, pair = i * n_actions + action, state * n_actions + action
            at = bounds[slot]
            env_pair = env_state[state] * n_env_actions + action // n_monitor_actions
            context = monitor_state[state] * n_monitor_actions + action % n_monitor_actions
            row = env_pair if pools_environment else pair
            left = -1.0
            if model.knows_monitor:
                total = 0
                for outcome in range(first_outcome[env_pair], first_outcome[env_pair + 1]):
                    total += outcome_counts[outcome]
                if total > 0 and pair < len(first_branch):
                    left = 0.0
                    for outcome in range(first_outcome[env_pair], first_outcome[env_pair + 1]):
                        share = outcome_counts[outcome] / total
                        branch = first_branch[pair] + outcome - first_outcome[env_pair]
                        for k in range(offsets[branch], offsets[branch + 1]):
                            if terminated[k]:
                                left += share * probability[k]
                            elif share > 0.0:
                                chances[at] = share * probability[k]
                                targets[at] = known_next[k]
                                at += 1
            elif own_visits[pair] > 0 or (pools_monitor and tries[row] > 0 and context_visits[context] > 0):
                own = moves_apart[pair] or not pools_monitor
                goes_on = own_ends[pair, 0] if ends_apart[pair] else ends[row, 0]
                stops = own_ends[pair, 1] if ends_apart[pair] else ends[row, 1]
                n_moves, n_shifts, node = 0, 0, first[row]
                while node >= 0:
                    n_moves += times[node]
                    node = following[node]
                for m in range(n_monitor):
                    n_shifts += own_moves[pair, m] if own else pooled_moves[context, m]
                left = 1.0
                if n_moves > 0 and n_shifts > 0 and goes_on > 0:
                    left = stops / (goes_on + stops)
                    share = (1.0 - left) / (n_moves * n_shifts)
                    node = first[row]
                    while node >= 0:
                        for m in range(n_monitor):
                            count = own_moves[pair, m] if own else pooled_moves[context, m]
                            target = joint[next_state[node] * n_monitor + m]
                            if count > 0 and target >= 0:
                                chances[at] = share * (times[node] * count)
                                targets[at] = target
                                at += 1
                        node = following[node]
            ending[i, action] = left
            bounds[slot + 1] = at
