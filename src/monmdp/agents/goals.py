"""The goals of DirectedModel: which pairs serve a purpose of exploration, and the way to the nearest of them.

Purposes, in this order:
  DISCOVER  try environment pairs never tried, and observe rewards never observed, where they can be observed;
  VISIT     the least visited joint pairs, while log(t + 2) / N(s,a) > β̄; those that cost something and are predicted
            by the model count as visited once more;
  REFINE    environment pairs with log(t + 2) / N(sE,aE) > β̄E, at the lowest price of all, and noisy rewards whose mean
            is not accurate enough; for transitions that may be random, β̄E is smaller, and max(log(t + 2), 0.1 √t)
            replaces the logarithm, so that estimates of random transitions become exact;
  RETRY     the same environment pairs at any price, and rewards that were given up.
A reward that was expected to be observed 2 log(t + 2) times but never was is given up until its pair is tried again.
"""

import math
from typing import NamedTuple

import numpy as np

from monmdp.agents import factored_model, outcome_rewards, planning
from monmdp.agents.choices import choose
from monmdp.kernels.compile import inlined, internal

N_PURPOSES = 4
DISCOVER, VISIT, REFINE, RETRY = range(N_PURPOSES)
#: A pair whose probability of success is at least this is taken in the agent's own state, without a plan.
NEARLY_SURE = 0.95
#: A plan is made again after this number of steps, whether its goal was reached or not; an attempt that may fail counts
#: as several steps.
PLAN_STEPS = 500
ATTEMPT_STEPS = 25
#: A reward is given up once it was expected to be observed GIVE_UP_FACTOR · log(t + 2) times. With nothing else to
#: explore, the agent looks for it again, until FINAL_GIVE_UP_FACTOR · log(t + 2) times. Each try counts at least by
#: LEAST_CHANCE.
GIVE_UP_FACTOR = 2.0
FINAL_GIVE_UP_FACTOR = 8.0
LEAST_CHANCE = 0.01
#: This number of rewards is observed twice to see whether there is noise.
REPEATS = 5
#: A reward that was observed n times is observed again when the agent has relied on it RELIED · n² times, so that these
#: observations are never more than 1% of its steps.
RELIED = 100
#: Transitions that may be random are tried max(log(t + 2), DOUBT_GROWTH · √t) / β̄E times.
DOUBT_GROWTH = 0.1


def given_up_remark(missed: float) -> str:
    """What is reported about a reward that was given up, although it was expected to be observed this often."""
    return f"given up: should have been seen {missed:.1f} times, and never was"


@inlined
def is_open(memory, env_pair, log_time):
    """Whether outcomes of a pair have rewards never observed and are not rare, and the pair was observed less than
    log(t + 2) / β̄E times."""
    if memory.rewards.unseen[env_pair] == 0 or memory.reward_counts[env_pair] * memory.beta_uncertain > log_time:
        return False
    return outcome_rewards.unseen_share(memory.rewards, env_pair) >= memory.accuracy


@inlined
def is_doubtful(memory, env_pair, log_time):
    """Whether a reward should be observed again, after it was observed less than log(t + 2) / β̄E times: it is not
    accurate, few rewards at all were ever observed twice, or much depends on it."""
    rewards, seen = memory.rewards, memory.reward_counts[env_pair]
    if seen == 0 or seen * memory.beta_uncertain > log_time:
        return False
    status = rewards.status[0]
    is_checked = status.repeats >= REPEATS or seen > 1 + status.repeats // status.seen_pairs
    is_proven = memory.relied[env_pair] < RELIED * seen * seen and log_time <= memory.beta_bar * seen
    return not (is_checked and is_proven) or outcome_rewards.is_inaccurate(rewards, env_pair, memory.accuracy)


@inlined
def price(memory, pair):
    """What the monitor is expected to charge for a pair."""
    return max(-factored_model.predicted_reward(memory.model, pair), 0.0)


@internal
def write_kept(memory, states, kept):
    """Write κ(s,a) = 1 − (1 − γ_W^cost_weight) · price / highest price so far, of states [n] into kept [n, A].

    A known monitor may charge more than ever before, which counts as the highest price.
    """
    n_actions, highest = memory.q.shape[1], -memory.status[0].lowest_monitor_reward
    loss = (1.0 - planning.GOAL_DISCOUNT**memory.cost_weight) / highest if highest > 0.0 else 0.0
    for i in range(len(states)):
        for action in range(n_actions):
            charged = price(memory, states[i] * n_actions + action) if loss > 0.0 else 0.0
            kept[i, action] = 1.0 - loss * min(charged, highest) if charged > 0.0 else 1.0


class Limits(NamedTuple):
    """What the goals of one search have in common."""

    log_time: float  # log(t + 2)
    doubt: float  # the same for transitions that may be random
    patience: float  # a reward is looked for until it was missed this often
    worthwhile: float  # and where the chance of observing it is at least this
    cheap: float  # the highest price that counts as the lowest
    has_budget: bool  # whether the number of answers is limited
    may_ask: bool  # whether there are answers left
    may_observe: bool  # whether rewards are looked for now


@internal
def limits_now(memory, purpose, step):
    """The limits of a search for a purpose."""
    status, model, log_time = memory.status[0], memory.model, math.log(step + 2.0)
    has_budget, may_ask = memory.answers < math.inf, memory.rewards.status[0].observations < memory.answers
    minds_cost = memory.cost_weight > 0.0 or not may_ask
    return Limits(
        log_time,
        max(log_time, DOUBT_GROWTH * math.sqrt(step)),
        min(2.0**status.round, GIVE_UP_FACTOR * log_time),
        0.5 * factored_model.best_observe_rate(model),
        factored_model.lowest_price(model) + 1e-9 if minds_cost else math.inf,
        has_budget,
        may_ask,
        may_ask and not (has_budget and status.untried > 0 and purpose == DISCOVER),
    )


@internal
def observe_success(memory, pair, limits, most):
    """The probability of observing the reward of a pair, at most `most`; 0 where it is not worthwhile."""
    chance = factored_model.observe_chance(memory.model, pair)
    return min(chance, most) if limits.may_observe and chance >= limits.worthwhile else 0.0


@internal
def discover_success(memory, pair, limits):
    """g(s,a) of DISCOVER: for pairs never tried, and for outcomes whose reward was never observed."""
    model, env_pair = memory.model, memory.model.env_pair[pair]
    if model.tries[model.ends.group[pair]] == 0:
        if memory.cut[model.env_state[pair // model.n_actions]] >= GIVE_UP_FACTOR * limits.log_time:
            return 0.0
        return 1.0 if limits.has_budget else 0.5 + 0.5 * factored_model.observe_chance(model, pair)
    is_wanted = memory.observe and memory.missed[env_pair] < limits.patience
    if not (is_wanted and is_open(memory, env_pair, limits.log_time)):
        return 0.0
    return observe_success(memory, pair, limits, 1.0) * outcome_rewards.unseen_share(memory.rewards, env_pair)


@internal
def visit_success(memory, pair, limits):
    """g(s,a) of VISIT: for the least visited known pairs, but not at a price for what is predicted."""
    level = memory.status[0].level
    if memory.visits[pair] > level or not memory.discovered[pair // memory.model.n_actions]:
        return 0.0
    if price(memory, pair) > limits.cheap:
        can_wait = limits.log_time <= memory.beta_bar * (level + 1)
        if not limits.may_ask or (can_wait and factored_model.is_predicted(memory.model, pair, limits.log_time)):
            return 0.0
    return 1.0


@internal
def refine_success(memory, purpose, pair, limits):
    """g(s,a) of REFINE and RETRY: for uncertain transitions, and for rewards that are doubtful or were given up."""
    model, env_pair, group = memory.model, memory.model.env_pair[pair], memory.model.ends.group[pair]
    tries, env_state = model.tries[group], model.env_state[pair // model.n_actions]
    is_uncertain = limits.log_time > memory.beta_certain * tries or (
        limits.doubt > memory.beta_uncertain * tries
        and factored_model.may_be_random(model, group, env_state, memory.random[env_state])
    )
    if is_uncertain and ((purpose == RETRY and limits.may_ask) or price(memory, pair) <= limits.cheap):
        return NEARLY_SURE
    if purpose == REFINE:
        doubtful = is_doubtful(memory, env_pair, limits.log_time)
        return observe_success(memory, pair, limits, NEARLY_SURE) if doubtful else 0.0
    if not memory.given_up[env_pair] or memory.missed[env_pair] >= FINAL_GIVE_UP_FACTOR * limits.log_time:
        return 0.0
    return observe_success(memory, pair, limits, NEARLY_SURE) * outcome_rewards.unseen_share(memory.rewards, env_pair)


@internal
def write_success(memory, purpose, states, step, success):
    """Write the probabilities g(s,a) that pairs of states [n] serve a purpose into success [n, A]; returns the largest.

    Rewards are looked for where they are observed at least half as likely as anywhere.
    """
    n_actions, limits, largest = memory.q.shape[1], limits_now(memory, purpose, step), 0.0
    for i in range(len(states)):
        for action in range(n_actions):
            pair = states[i] * n_actions + action
            if purpose == DISCOVER:
                g = discover_success(memory, pair, limits)
            elif purpose == VISIT:
                g = visit_success(memory, pair, limits)
            else:
                g = refine_success(memory, purpose, pair, limits)
            success[i, action] = g
            largest = max(largest, g)
    return largest


@internal
def find_goals(memory, purpose, origin, step):
    """Search layer by layer for goals of a purpose and plan for them; returns whether there are any."""
    plan, status, states = memory.goal_plan, memory.goal_plan.status[0], memory.goal_plan.states
    for i in range(status.size):
        plan.place[states[i]] = -1
        plan.values[states[i]] = 0.0
    status.purpose, status.changes, status.steps_left, status.size = purpose, memory.model.changes[0], 0, 0
    start, layers_left, decay = status.size, 1 << 60, 1.0
    planning.add_state(plan, origin, decay)
    while start < status.size and layers_left >= 0:
        stop = status.size
        success = write_success(memory, purpose, states[start:stop], step, plan.success[start:stop])
        write_kept(memory, states[start:stop], plan.kept[start:stop])
        if success > 0.0 and status.steps_left == 0:
            status.steps_left, layers_left = PLAN_STEPS, planning.EXTRA_DEPTH
        factored_model.write_model(memory.model, states, plan.rows, start, stop)
        decay *= planning.GOAL_DISCOUNT
        if layers_left > 0:
            planning.add_successors(plan, start, stop, decay)
        start, layers_left = stop, layers_left - 1
    if status.steps_left > 0:
        planning.solve_goals(plan)
    return status.steps_left > 0


@inlined
def follow(memory, purpose, state, draws):
    """The action toward the goals of a purpose, or -1 if there are none."""
    plan, model, status = memory.goal_plan, memory.model, memory.status[0]
    planned, step = memory.goal_plan.status[0], draws.step
    if step < status.idle_until[purpose] and status.idle_changes[purpose] == model.changes[0]:
        return -1
    here, values = np.array([state]), np.empty((1, model.n_actions))
    if write_success(memory, purpose, here, step, values) >= NEARLY_SURE:
        planned.steps_left = 0
        kept = np.empty_like(values)
        write_kept(memory, here, kept)
        return choose(values[0] * kept[0], draws)
    current = planned.purpose == purpose and planned.changes == model.changes[0] and plan.place[state] >= 0
    if not (current and planned.steps_left > 0):
        found = find_goals(memory, purpose, state, step)
        while not found and purpose == DISCOVER and 2.0**status.round < GIVE_UP_FACTOR * math.log(step + 2.0):
            status.round += 1
            found = find_goals(memory, purpose, state, step)
        if not found:
            status.idle_until[purpose], status.idle_changes[purpose] = step + step // 16 + 16, model.changes[0]
            return -1
    place = plan.place[state]
    for action in range(model.n_actions):
        values[0, action] = planning.goal_value(plan, place, action)
    action = choose(values[0], draws)
    success = plan.success[place, action]
    arrived = success >= NEARLY_SURE or (purpose >= REFINE and success > 0.0)
    planned.steps_left = 0 if arrived else max(planned.steps_left - (ATTEMPT_STEPS if success > 0.0 else 1), 0)
    return action
