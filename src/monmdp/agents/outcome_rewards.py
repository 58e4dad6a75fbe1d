"""Rewards by outcome: R̂(sE,aE) = Σ_o N(o) / N(sE,aE) · r̂(o), with an outcome for each next environment state and end.

Where rewards depend on how a step came out, chance in transitions is thus no noise in rewards, and every step improves
the weights, whether its reward was observed or not. r̂(o) is the mean of the observed rewards of an outcome. If none
was observed, the minimum reward stands for it, or for rare outcomes the mean reward of the same outcome elsewhere.
"""

import math
from typing import Any

from monmdp.agents import arrays
from monmdp.agents.factored_model import most_transitions
from monmdp.kernels.compile import inlined, internal
from monmdp.world import World

#: Deviations of rewards up to this are rounding.
ROUNDING = 1e-12

OutcomeRewards: Any = arrays.array_tuple(
    __name__,
    "OutcomeRewards",
    "Counts of outcomes, where 2 · next environment state + end is the next state, and what was observed of rewards.",
    found=arrays.Transitions,
    clear="bool nodes",  # whether it is known who ended the episode, if it ended
    unseen="int env_pairs",  # number of outcomes whose reward was never observed
    seen="int nodes",
    mean="float nodes",
    squares="float nodes",  # sums of squared deviations
    seen_anywhere="int outcomes",  # by outcome, over all environment pairs
    mean_anywhere="float outcomes",
    status={
        "noisy": "bool",  # whether any outcome had different rewards
        "repeats": "int",  # observations of outcomes whose reward had been observed before
        "observations": "int",
        "seen_pairs": "int",  # environment pairs with an observed reward
        "lowest_mean": "float",  # of the outcomes, when the number of observations was last a power of two
        "highest_mean": "float",
    },
)


def new_outcome_rewards(world: World, steps: int) -> Any:
    """No outcomes, with room for all that can occur."""
    n_outcomes = 2 * world.n_env_states
    found = arrays.new_transitions(world.n_env_pairs, n_outcomes, most_outcomes(world, steps))
    sizes = {"nodes": len(found.times), "env_pairs": world.n_env_pairs, "outcomes": n_outcomes}
    return arrays.zeros(OutcomeRewards, sizes, found=found)


def most_outcomes(world: World, steps: int) -> int:
    """The largest number of outcomes that can occur; the monitor may end an episode as well."""
    return min(steps, 2 * most_transitions(world, True))


@inlined
def count_outcome(rewards, env_pair, outcome, is_clear):
    """Count an outcome of an environment pair and return its node.

    Where the monitor may have ended the episode, the end is not clear, and says nothing if the same next state is known
    with a clear end. Otherwise, it is an outcome of its own, until the first clear one takes its place.
    """
    found, node, match = rewards.found, rewards.found.first[env_pair], -1
    while node >= 0:
        if found.next_state[node] == outcome or (
            found.next_state[node] == outcome ^ 1 and not (rewards.clear[node] and is_clear)
        ):
            match = node
        node = found.following[node]
    if match < 0:
        rewards.unseen[env_pair] += 1
        arrays.count_transition(found, env_pair, outcome, False)
        match = found.used[0] - 1
    elif is_clear or not rewards.clear[match]:
        found.times[match] += 1
        found.total[env_pair] += 1
    if is_clear:
        found.next_state[match], rewards.clear[match] = outcome, True
    return match


@internal
def find_outcome(rewards, env_pair, outcome):
    """The node of an outcome that was counted before; since then, it may have become known who ended the episode."""
    found, node, other = rewards.found, rewards.found.first[env_pair], -1
    while node >= 0 and found.next_state[node] != outcome:
        other = node if found.next_state[node] == outcome ^ 1 else other
        node = found.following[node]
    return node if node >= 0 else other


@inlined
def observe(rewards, env_pair, node, reward):
    """Update the mean reward of an outcome, and the range of all means when the number of observations has doubled."""
    status, used = rewards.status[0], rewards.found.used[0]
    error = reward - rewards.mean[node]
    status.repeats += rewards.seen[node] > 0
    rewards.unseen[env_pair] -= rewards.seen[node] == 0
    rewards.seen[node] += 1
    rewards.mean[node] += error / rewards.seen[node]
    rewards.squares[node] += error * (reward - rewards.mean[node])
    status.noisy |= rewards.squares[node] > ROUNDING and rewards.seen[node] > 1
    outcome = rewards.found.next_state[node]
    rewards.seen_anywhere[outcome] += 1
    rewards.mean_anywhere[outcome] += (reward - rewards.mean_anywhere[outcome]) / rewards.seen_anywhere[outcome]
    status.observations += 1
    if status.observations & (status.observations - 1) == 0:
        status.lowest_mean, status.highest_mean = math.inf, -math.inf
        for other in range(used):
            if rewards.seen[other] > 0:
                status.lowest_mean = min(status.lowest_mean, rewards.mean[other])
                status.highest_mean = max(status.highest_mean, rewards.mean[other])


@internal
def unseen_share(rewards, env_pair):
    """How often, so far, a pair had an outcome whose reward was never observed; at least 0, at most 1."""
    found, times = rewards.found, 0
    node = found.first[env_pair]
    while node >= 0:
        times += found.times[node] if rewards.seen[node] == 0 else 0
        node = found.following[node]
    return times / found.total[env_pair]


@internal
def expected_reward(rewards, env_pair, lowest, accuracy):
    """R̂ of a pair that was tried; outcomes are rare if all whose reward was never observed are less than `accuracy`."""
    found, total = rewards.found, 0.0
    are_rare, node = unseen_share(rewards, env_pair) < accuracy, found.first[env_pair]
    while node >= 0:
        reward, outcome = rewards.mean[node], found.next_state[node]
        if rewards.seen[node] == 0:
            reward = rewards.mean_anywhere[outcome] if are_rare and rewards.seen_anywhere[outcome] > 0 else lowest
        total += found.times[node] / found.total[env_pair] * reward
        node = found.following[node]
    return total


@internal
def is_inaccurate(rewards, env_pair, accuracy):
    """Whether there is noise, and an outcome was observed only once, or the 95% interval of R̂ is wider than `accuracy`
    times the range of mean rewards."""
    found, status, variance = rewards.found, rewards.status[0], 0.0
    node = found.first[env_pair] if status.noisy else -1
    while node >= 0:
        seen, share = rewards.seen[node], found.times[node] / found.total[env_pair]
        if seen == 1:
            return True
        if seen > 1:
            variance += share * share * (rewards.squares[node] / (seen - 1) / seen)
        node = found.following[node]
    return 1.96 * math.sqrt(variance) > accuracy * (status.highest_mean - status.lowest_mean)
