"""A model in two factors, learned by counting: what the environment does, and what the monitor does.

P̂(s′ | s,a) = (1 − P̂(end | s,a)) · P̂E(sE′ | sE,aE) · P̂M(sM′ | s,a)

P̂E is pooled over all monitor states and actions, since the environment does not depend on the monitor. P̂M is pooled
over all environment pairs and P̂(end) over all monitor pairs, except for pairs whose own counts contradict the pool:
they are separated from it. A known monitor replaces P̂M.
"""

import math
from typing import Any

import numpy as np

from monmdp.agents import arrays
from monmdp.agents.known_monitor import KnownMonitor, count_experience, expected_monitor, known_monitor, write_known_row
from monmdp.kernels.compile import inlined, internal
from monmdp.problem import Integers
from monmdp.world import World

#: A pair is separated if twice its log likelihood ratio exceeds this times the number of known outcomes; with two
#: outcomes that is 8, about the 99.5% quantile of χ² with one degree of freedom.
SEPARATION = 4.0


Pool: Any = arrays.array_tuple(
    __name__,
    "Pool",
    "Counts of outcomes of pairs by group; the pairs of group g are members[offsets[g]] … members[offsets[g + 1] - 1].",
    own="int pairs outcomes",
    pooled="int groups outcomes",  # without separated pairs
    separated="bool pairs",
    group="int pairs",
    members="int pairs",
    offsets="int groups",
)


FactoredModel: Any = arrays.array_tuple(
    __name__,
    "FactoredModel",
    "Counts of the two factors.",
    env_state=np.asarray,  # [states]
    monitor_state=np.asarray,  # [states]
    joint=np.asarray,  # [SE, SM]: the joint state of an environment and a monitor state, -1 for none
    env_pair="int pairs",
    visits="int pairs",
    env_tries="int env_pairs",
    tries="int groups",  # of the groups of `ends`: environment pairs, or joint pairs if the environment is not pooled
    moves=arrays.Transitions,  # next environment states of these groups
    ends=Pool,  # outcomes are (continued, ended)
    shifts=Pool,  # outcomes are next monitor states, groups are monitor pairs
    reward="float pairs",  # mean monitor reward
    monitor_tries="int monitor_pairs",
    monitor_asked="int monitor_pairs",  # tries that tell how often rewards are observed
    monitor_observed="int monitor_pairs",  # how often the reward was observed
    monitor_reward="float monitor_pairs",  # mean
    continued="bool monitor_pairs",  # whether an episode ever continued after it, so that not all ends are its own
    varied="bool monitor_pairs",  # whether the monitor reward has ever been another than before
    peculiar="bool env_pairs",  # whether a joint pair of the environment pair was ever separated
    known=KnownMonitor,
    changes="int 1",  # structural changes, after which plans are outdated
    n_actions=int,
    pool_monitor=bool,
    known_monitor=bool,
)


def new_pool(group: Integers, n_groups: int, n_outcomes: int) -> Any:
    """A pool without counts."""
    members = np.argsort(group, kind="stable")
    offsets = np.searchsorted(group[members], np.arange(n_groups + 1))
    sizes = {"pairs": len(group), "groups": n_groups, "outcomes": n_outcomes}
    return arrays.zeros(Pool, sizes, group=group, members=members, offsets=offsets)


def new_factored_model(world: World, steps: int, options: Any) -> Any:
    """A model without counts; options: pool_environment, pool_monitor and known_monitor of an agent."""
    n_monitor, sizes = world.n_monitor_states, arrays.world_sizes(world)
    env_pair, monitor_pair = arrays.pair_factors(world)
    joint = np.full((world.n_env_states, n_monitor), -1, np.int64)
    joint[world.env_state, world.monitor_state] = np.arange(world.n_states)
    visits, env_tries = np.zeros(sizes["pairs"], np.int64), np.zeros(world.n_env_pairs, np.int64)
    group, tries = (env_pair, env_tries) if options.pool_environment else (np.arange(len(visits)), visits)
    capacity = 0 if options.known_monitor else min(steps, most_transitions(world, options.pool_environment))
    return arrays.zeros(
        FactoredModel,
        sizes,
        options,
        world,
        joint=joint,
        env_pair=env_pair,
        visits=visits,
        env_tries=env_tries,
        tries=tries,
        moves=arrays.new_transitions(len(tries), world.n_env_states, capacity),
        ends=new_pool(group, len(tries), 2),
        shifts=new_pool(monitor_pair, sizes["monitor_pairs"], n_monitor),
        known=known_monitor(world) if options.known_monitor else arrays.zeros(KnownMonitor, {}),
    )


def most_transitions(world: World, pools_environment: bool) -> int:
    """The largest possible number of different transitions of the environment, pooled over the monitor or not."""
    if len(world.offsets) == 0:
        return world.n_env_states * (world.n_env_pairs if pools_environment else world.n_states * world.n_actions)
    return len(np.unique(world.env_outcome) if pools_environment else world.env_outcome)


@internal
def reconsider(pool, pair):
    """Separate a pair from its pool, or return it; returns whether that changed.

    ratio is 2 log of the likelihood of its own counts by their own rates over that by the rates of the other pairs,
    which are smoothed by half a count.
    """
    own, pooled, was_separated = pool.own[pair], pool.pooled[pool.group[pair]], pool.separated[pair]
    known, total, others_total, ratio = 0, 0, 0, 0.0
    for k in range(len(own)):
        known += own[k] > 0 or pooled[k] > 0
        total += own[k]
        others_total += pooled[k] - (0 if was_separated else own[k])
    if known > 1:
        smoothed_total = others_total + 0.5 * known
        for k in range(len(own)):
            if own[k] > 0:
                others = pooled[k] - (0 if was_separated else own[k])
                ratio += 2.0 * own[k] * math.log(own[k] / total * smoothed_total / (others + 0.5))
    separated = ratio > SEPARATION * known
    if separated == was_separated:
        return False
    pool.separated[pair] = separated
    for k in range(len(own)):
        pooled[k] += -own[k] if separated else own[k]
    return True


@internal
def reconsider_group(model, pool, group):
    """Reconsider all visited pairs of a group; returns the number of changes."""
    changes = 0
    for k in range(pool.offsets[group], pool.offsets[group + 1]):
        pair = pool.members[k]
        if model.visits[pair] > 0 and model.continued[model.shifts.group[pair]]:
            changes += reconsider(pool, pair)
            model.peculiar[model.env_pair[pair]] |= pool.separated[pair]
    return changes


@internal
def count_outcome(pool, pair, outcome):
    """Count an outcome of a pair; returns the number of changes."""
    pool.own[pair, outcome] += 1
    is_new = False
    if not pool.separated[pair]:
        pooled = pool.pooled[pool.group[pair]]
        is_new = pooled[outcome] == 0
        pooled[outcome] += 1
    return is_new + reconsider(pool, pair)


@inlined
def learn_model(model, transition, is_given_up):
    """Count one step; all pairs of a group are reconsidered when its count has doubled.

    is_given_up: the reward was given up, so that not observing it says nothing about the monitor.
    """
    pair, env_pair = transition.state * model.n_actions + transition.action, transition.env_pair
    next_state, monitor_reward = transition.next_state, transition.monitor_reward
    group, monitor_pair = model.ends.group[pair], model.shifts.group[pair]
    model.visits[pair] += 1
    model.env_tries[env_pair] += 1
    model.monitor_tries[monitor_pair] += 1
    model.continued[monitor_pair] |= not transition.terminated
    is_observed = not math.isnan(transition.proxy_reward)
    model.monitor_asked[monitor_pair] += is_observed or not is_given_up
    model.monitor_observed[monitor_pair] += is_observed
    model.reward[pair] += (monitor_reward - model.reward[pair]) / model.visits[pair]
    error = monitor_reward - model.monitor_reward[monitor_pair]
    model.varied[monitor_pair] |= abs(error) > 1e-9 and model.monitor_tries[monitor_pair] > 1
    model.monitor_reward[monitor_pair] += error / model.monitor_tries[monitor_pair]
    changes = int(model.tries[group] == 1)
    if model.known_monitor:
        env_next_state = model.env_state[next_state]
        outcome = count_experience(model.known, pair, env_next_state, next_state, transition.terminated)
        changes += outcome >= 0 and model.known.counts[outcome] == 1
    else:
        if model.continued[monitor_pair]:
            changes += count_outcome(model.ends, pair, int(transition.terminated))
        else:  # the end may be the monitor's, and says nothing about the environment
            model.ends.own[pair, 1] += 1
            changes += not model.ends.separated[pair]
            model.ends.separated[pair] = True
        if not transition.terminated:
            changes += arrays.count_transition(model.moves, group, np.int64(model.env_state[next_state]), False)
            changes += count_outcome(model.shifts, pair, np.int64(model.monitor_state[next_state]))
        is_separated = model.ends.separated[pair] or model.shifts.separated[pair]
        model.peculiar[env_pair] |= is_separated and model.continued[monitor_pair]
        tries, monitor_tries = model.tries[group], model.monitor_tries[monitor_pair]
        if monitor_tries & (monitor_tries - 1) == 0:
            changes += reconsider_group(model, model.shifts, monitor_pair)
        if tries & (tries - 1) == 0:
            changes += reconsider_group(model, model.ends, group)
    model.changes[0] += changes


@inlined
def predicted_reward(model, pair):
    """Expected monitor reward of a pair about which something is known."""
    if model.known_monitor:
        return expected_monitor(model.known, pair)[0]
    return model.reward[pair] if model.visits[pair] > 0 else model.monitor_reward[model.shifts.group[pair]]


@internal
def observe_chance(model, pair):
    """The probability of observing the reward of a pair: given, or the smoothed frequency of its monitor pair."""
    if model.known_monitor and pair < len(model.known.env_pair):  # else its outcomes are not known yet
        chance = expected_monitor(model.known, pair)[1]
        if chance >= 0.0:
            return chance
    monitor_pair = model.shifts.group[pair]
    return (model.monitor_observed[monitor_pair] + 1.0) / (model.monitor_asked[monitor_pair] + 1.0)


@internal
def is_predicted(model, pair, least_tries):
    """Whether the factors tell what a joint pair does: its environment pair was tried, its monitor pair at least this
    often and always for the same reward, and no pair was ever separated from the pools."""
    group, monitor_pair = model.ends.group[pair], model.shifts.group[pair]
    if model.known_monitor or model.tries[group] == 0:
        return model.tries[group] > 0
    is_alike = not (model.varied[monitor_pair] or model.peculiar[model.env_pair[pair]])
    return model.pool_monitor and is_alike and model.monitor_tries[monitor_pair] >= least_tries


@inlined
def lowest_price(model):
    """The least that any monitor pair tried so far charges."""
    lowest = math.inf
    for i in range(len(model.monitor_tries)):
        if model.monitor_tries[i] > 0:
            lowest = min(lowest, max(-model.monitor_reward[i], 0.0))
    return lowest


@inlined
def best_observe_rate(model):
    """The largest smoothed frequency of observed rewards over monitor pairs tried so far; 0 with a known monitor, whose
    chances are not compared with frequencies."""
    best = 0.0
    for i in range(len(model.monitor_asked)):
        if model.monitor_asked[i] > 0 and not model.known_monitor:
            best = max(best, (model.monitor_observed[i] + 1.0) / (model.monitor_asked[i] + 1.0))
    return best


@internal
def may_be_random(model, group, env_state, others_are):
    """Whether an environment pair had different outcomes, or always stayed in a state where others are random."""
    number, stays = 0, True
    if model.known_monitor:
        for outcome in range(model.known.first_outcome[group], model.known.first_outcome[group + 1]):
            if model.known.counts[outcome] > 0:
                number += 1
                stays &= model.known.env_next_state[outcome] == env_state and not model.known.env_terminated[outcome]
    else:
        node, ended = model.moves.first[group], model.ends.pooled[group, 1] > 0
        while node >= 0:
            number += 1
            stays &= model.moves.next_state[node] == env_state
            node = model.moves.following[node]
        number, stays = number + ended, stays and not ended
    return number > 1 or (stays and others_are)


@internal
def write_model(model, states, rows, start, stop):
    """Write P̂ of states[start] … states[stop - 1] into `rows`; the rows of earlier states are given.

    Row i * A + a has the successors of the i-th state. The end of an episode is a successor too, with index S. A row
    without entries means that nothing is known.
    """
    known, moves, ends, shifts = model.known, model.moves, model.ends, model.shifts
    n_actions, end = model.n_actions, len(model.env_state)
    offsets, weight, next_state = rows.offsets, rows.weight, rows.next_state
    for row in range(start * n_actions, stop * n_actions):
        pair, entry = states[row // n_actions] * n_actions + row % n_actions, offsets[row]
        group, monitor_pair = ends.group[pair], shifts.group[pair]
        can_pool = model.pool_monitor and model.tries[group] > 0 and model.monitor_tries[monitor_pair] > 0
        if model.known_monitor:
            total = known.tries[group] if pair < len(known.env_pair) else 0
            if total > 0:
                next_state[entry] = end
                after, weight[entry] = write_known_row(known, pair, total, False, rows, entry + 1)
                entry = after
        elif model.visits[pair] > 0 or can_pool:
            is_separated = shifts.separated[pair] or not model.pool_monitor
            shift_counts = shifts.own[pair] if is_separated else shifts.pooled[monitor_pair]
            end_counts = ends.own[pair] if ends.separated[pair] else ends.pooled[group]
            n_moves, n_shifts, ending, node = moves.total[group], 0, 1.0, -1
            for m in range(len(shift_counts)):
                n_shifts += shift_counts[m]
            if n_moves > 0 and n_shifts > 0 and end_counts[0] > 0:
                ending, node = 0.0, moves.first[group]
                if end_counts[1] > 0:
                    ending = end_counts[1] / (end_counts[0] + end_counts[1])
            weight[entry], next_state[entry] = ending, end  # overwritten below if its probability is 0
            entry += ending > 0.0
            share = (1.0 - ending) / (n_moves * n_shifts) if node >= 0 else 0.0
            while node >= 0:
                targets, times = model.joint[moves.next_state[node]], moves.times[node]
                for m in range(len(shift_counts)):
                    if shift_counts[m] > 0 and targets[m] >= 0:
                        weight[entry], next_state[entry] = share * (times * shift_counts[m]), targets[m]
                        entry += 1
                node = moves.following[node]
            entry = max(entry, offsets[row] + 1)
        offsets[row + 1] = entry
