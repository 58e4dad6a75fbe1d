"""Monitored MBIE-EB: plan on two optimistic models, one to earn and one to observe, and be greedy for an episode.

bonus(n, t) = β √(ln f(t) / n), 0 if n = 0, with f(t) = 1 + t ln² t
Q(s,a) = r(s,a) + γ Σ P̂(s′|s,a) max Q(s′,·), for the tried pairs, by so many synchronous sweeps before an episode
  optimise: r = r̂E + bonus(N_r(sE,aE), N_r(sE)) + r̂M + bonus(N_M(sM,aM), N_M(sM)) + bonus(N(s,a), N(s)),
            r̂E = minimum_reward where nothing was observed; Q = q_max for pairs never tried
  observe:  r = 1[N_r(sE,aE) = 0] (1 − f(N(s))^(−β_KL / N(s,a))) + bonus(N(s,a), N(s)),
            Q = 1 / (1 − γ) for pairs never tried; ends of episodes are ignored
episode k = 0, 1, … observes iff log(k + 1e-4) / log(observe_base) > observe episodes so far

Known monitor: N(s,a), N(s) and P̂ are the environment's, pooled over the monitor, times the monitor's own rows; its
reward takes the place of r̂M + bonus, and the chance to be shown the reward that of the KL bound.
The optimise model is planned before every episode, since evaluation is greedy on it at any time; the observe model
before those that observe. q is the table that the running episode began with: being evaluated changes nothing.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent
from monmdp.agents.choices import choose, smallest
from monmdp.agents.known_monitor import KnownMonitor, experienced, known_monitor, unknown_monitor
from monmdp.agents.q_learning import largest_value, learn_reward
from monmdp.agents.transitions import Transitions, new_transitions, note_transition
from monmdp.errors import MonMDPError
from monmdp.exact.bounds import Bounds
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Booleans, Floats, Integers
from monmdp.world import World

TERMINATIONS = ("sticky", "probability")
#: Keeps the logarithm of episode 0 finite.
FIRST_EPISODE = 1e-4


class MBIEMemory(NamedTuple):
    """Two tables [S, A], the counts and means behind them, the planned model, and options.

    Counts: pair_counts [S * A] and state_counts [S] of joint pairs; env_counts [SE * AE] and env_state_counts [SE]
    of environment pairs; reward_counts and reward_model [SE * AE] of observed rewards, reward_state_counts [SE];
    monitor_counts and monitor_model [SM * AM], monitor_state_counts [SM]; ended [SE * AE] marks environment pairs
    that ever ended an episode; outcome_counts go with a known monitor's environment outcomes.
    Model, rebuilt before planning: tried [S * A] lists pairs, the i-th with tries[i], rewards[i] and its weighted
    next states at bounds[i] … bounds[i + 1] - 1 of weights and next_states; values [S].
    episodes [3]: episodes so far, observe episodes among them, whether the running one observes.
    """

    q: Floats
    visits: Integers
    observe_q: Floats
    pair_counts: Integers
    state_counts: Integers
    env_counts: Integers
    env_state_counts: Integers
    reward_counts: Integers
    reward_model: Floats
    reward_state_counts: Integers
    monitor_counts: Integers
    monitor_model: Floats
    monitor_state_counts: Integers
    ended: Booleans
    transitions: Transitions
    known: KnownMonitor
    outcome_counts: Integers
    tried: Integers
    tries: Floats
    rewards: Floats
    bounds: Integers
    weights: Floats
    next_states: Integers
    values: Floats
    episodes: Integers
    env_state: Integers
    monitor_state: Integers
    n_env_actions: int
    n_monitor_actions: int
    bonus: float
    observe_bonus: float
    observe_base: float
    observe_times: int
    observe_while_unseen: bool
    sweeps: int
    sticky: bool
    knows_monitor: bool
    discount: float


@kernel
def log_f(total):
    """ln f(t) with f(t) = 1 + t ln² t."""
    log = math.log(total)
    return math.log(1.0 + total * log * log)


@kernel
def confidence(scale, count, total):
    """β √(ln f(t) / n), 0 if n = 0."""
    return scale * math.sqrt(log_f(total) / count) if count > 0 else 0.0


@kernel
def observe_bound(scale, count, total):
    """KL-UCB of a chance never seen to come true: 1 − f(t)^(−β_KL / n)."""
    return -math.expm1(-scale * log_f(total) / count)


@kernel
def running_mean(means, counts, index, value):
    """Take one more value into a mean."""
    counts[index] += 1
    means[index] += (value - means[index]) / counts[index]


@inlined
def act_mbie(memory, state, draws):
    """Greedy on the table of the episode's mode."""
    observing = memory.episodes[2] == 1
    table = memory.observe_q if observing else memory.q
    return choose(table[state], draws), observing


@inlined
def update_mbie(memory, transition):
    """Count what happened; planning waits for the next episode."""
    state, action, env_pair, next_state = (
        transition.state, transition.action, transition.env_pair, transition.next_state,
    )  # fmt: skip
    terminated, proxy_reward, monitor_reward = (
        transition.terminated, transition.proxy_reward, transition.monitor_reward,
    )  # fmt: skip
    pair = state * memory.q.shape[1] + action
    env_state = memory.env_state[state]
    if not math.isnan(proxy_reward):
        memory.reward_state_counts[env_state] += 1
    learn_reward(memory, env_pair, proxy_reward)
    if memory.knows_monitor:
        after = memory.env_state[next_state]
        outcome = experienced(memory.known, pair, env_pair, after, next_state, terminated)
        if outcome >= 0:
            memory.outcome_counts[outcome] += 1
            memory.env_counts[env_pair] += 1
            memory.env_state_counts[env_state] += 1
            if memory.known.env_terminated[outcome]:
                memory.ended[env_pair] = True
    else:
        memory.pair_counts[pair] += 1
        memory.state_counts[state] += 1
        monitor_state = memory.monitor_state[state]
        monitor_pair = monitor_state * memory.n_monitor_actions + action % memory.n_monitor_actions
        memory.monitor_state_counts[monitor_state] += 1
        running_mean(memory.monitor_model, memory.monitor_counts, monitor_pair, monitor_reward)
        note_transition(memory.transitions, pair, next_state, terminated)
        if terminated:
            memory.ended[env_pair] = True


@kernel
def lay_out(memory, observing):
    """Write the tried pairs, their rewards and their weighted next states for planning; returns how many pairs."""
    n_actions, n_tried, n_rows = memory.q.shape[1], 0, 0
    for pair in range(len(memory.visits)):
        state, action = pair // n_actions, pair % n_actions
        env_state, env_action = memory.env_state[state], action // memory.n_monitor_actions
        env_pair = env_state * memory.n_env_actions + env_action
        if memory.knows_monitor:
            count, total = memory.env_counts[env_pair], memory.env_state_counts[env_state]
        else:
            count, total = memory.pair_counts[pair], memory.state_counts[state]
        if count == 0 or (memory.knows_monitor and pair >= len(memory.known.first_branch)):
            continue
        goes_on = observing or not (memory.sticky and memory.ended[env_pair])
        given_reward, given_chance = 0.0, 0.0
        memory.bounds[n_tried] = n_rows
        if memory.knows_monitor:
            known = memory.known
            first, branch = known.first_outcome[env_pair], known.first_branch[pair]
            for outcome in range(first, known.first_outcome[env_pair + 1]):
                times = memory.outcome_counts[outcome]
                if times > 0:
                    here = branch + outcome - first
                    given_reward += times * known.monitor_reward[here]
                    given_chance += times * known.observe_probability[here]
                    for row in range(known.offsets[here], known.offsets[here + 1]):
                        if goes_on and (observing or not known.terminated[row]):
                            memory.weights[n_rows] = times * known.probability[row]
                            memory.next_states[n_rows] = known.next_state[row]
                            n_rows += 1
            given_reward /= count
            given_chance /= count
        elif goes_on:
            node = memory.transitions.first[pair]
            while node >= 0:
                times = memory.transitions.times[node]
                if not (observing or memory.sticky):
                    times -= memory.transitions.ended[node]
                if times > 0:
                    memory.weights[n_rows] = times
                    memory.next_states[n_rows] = memory.transitions.next_state[node]
                    n_rows += 1
                node = memory.transitions.following[node]
        reward = confidence(memory.bonus, count, total)
        if observing:
            if memory.reward_counts[env_pair] < memory.observe_times:
                if memory.knows_monitor:
                    reward += given_chance
                else:
                    reward += observe_bound(memory.observe_bonus, count, total)
        else:
            seen, seen_here = memory.reward_counts[env_pair], memory.reward_state_counts[env_state]
            reward += memory.reward_model[env_pair] + confidence(memory.bonus, seen, seen_here)
            if memory.knows_monitor:
                reward += given_reward
            else:
                monitor_state = memory.monitor_state[state]
                monitor_pair = monitor_state * memory.n_monitor_actions + action % memory.n_monitor_actions
                paid, paid_here = memory.monitor_counts[monitor_pair], memory.monitor_state_counts[monitor_state]
                reward += memory.monitor_model[monitor_pair] + confidence(memory.bonus, paid, paid_here)
        memory.tried[n_tried] = pair
        memory.tries[n_tried] = count
        memory.rewards[n_tried] = reward
        n_tried += 1
    memory.bounds[n_tried] = n_rows
    return n_tried


@kernel
def sweep(q, values, n_tried, tried, tries, rewards, bounds, weights, next_states, discount, sweeps):
    """Synchronous value iteration on the tried pairs of q [S, A]; stops early once a sweep changes nothing."""
    n_actions = q.shape[1]
    for _ in range(sweeps):
        for state in range(len(values)):
            values[state] = largest_value(q, state)
        changed = False
        for i in range(n_tried):
            total = 0.0
            for row in range(bounds[i], bounds[i + 1]):
                total += weights[row] * values[next_states[row]]
            value = rewards[i] + discount * total / tries[i]
            state, action = tried[i] // n_actions, tried[i] % n_actions
            changed |= value != q[state, action]
            q[state, action] = value
        if not changed:
            break


@kernel
def plan_table(memory, q, observing):
    """Plan on the observe model or the optimise model, from where q [S, A] stands."""
    n_tried = lay_out(memory, observing)
    sweep(
        q, memory.values, n_tried, memory.tried, memory.tries, memory.rewards, memory.bounds, memory.weights,
        memory.next_states, memory.discount, memory.sweeps,
    )  # fmt: skip


@kernel
def begin_mbie(memory, state, step):
    """Choose the mode of the episode, and plan."""
    episode, observed = memory.episodes[0], memory.episodes[1]
    observing = math.log(episode + FIRST_EPISODE) / math.log(memory.observe_base) > observed
    if memory.observe_while_unseen and smallest(memory.reward_counts) > 0:
        observing = False
    memory.episodes[0] += 1
    memory.episodes[1] += observing
    memory.episodes[2] = observing
    plan_table(memory, memory.q, False)
    if observing:
        plan_table(memory, memory.observe_q, True)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class MonitoredMBIE(Agent):
    """Plans on optimistic models, in some episodes to observe what was never seen, in the others to earn.

    bonus: β of the confidence bonuses. observe_bonus: β_KL of the bound on being shown a reward.
    sweeps: of value iteration before an episode.
    observe_base: base of the logarithm that says how many episodes observe.
    observe_times: a reward is worth observing until it was seen so often; 1 is published.
    observe_while_unseen: no episode observes once every environment pair's reward was seen.
    q_max: value of pairs never tried; by default the paper's on its problems, else the largest return that the
    problem's visible rewards allow.
    minimum_reward: stands in for a reward never observed; by default the paper's on its problems, else the smallest
    reward that can be observed.
    termination: "sticky" takes an environment pair that once ended an episode to end every time, as published;
    "probability" counts.
    known_monitor: the monitor is given, and only the environment is estimated.
    """

    bonus: float = 5e-4
    observe_bonus: float = 0.05
    sweeps: int = 50
    observe_base: float = 1.005
    observe_times: int = 1
    observe_while_unseen: bool = False
    q_max: float | None = None
    minimum_reward: float | None = None
    termination: Literal["sticky", "probability"] = "sticky"
    known_monitor: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least(self.bonus, 0.0, "The bonus")
        check.at_least(self.observe_bonus, 0.0, "The observe bonus")
        check.whole(self.sweeps, 1, "The number of sweeps")
        check.whole(self.observe_times, 1, "The number of times to observe a reward")
        if not self.observe_base > 1.0:
            raise MonMDPError(f"The observe base must be above 1, not {self.observe_base!r}.")
        if self.termination not in TERMINATIONS:
            raise MonMDPError(f"The termination is one of {TERMINATIONS}, not {self.termination!r}.")

    act = act_mbie
    update = update_mbie
    begin = begin_mbie

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"q_max": bounds.maximum_value, "minimum_reward": bounds.minimum_reward}

    def memory(self, world: World, steps: int, seed: int) -> Any:
        if self.q_max is None or self.minimum_reward is None:
            raise MonMDPError("MonitoredMBIE needs q_max and minimum_reward, or in live training a reward_range.")
        n, m = world.n_states, world.n_actions
        monitor_pairs = world.n_monitor_states * world.n_monitor_actions
        known = known_monitor(world) if self.known_monitor else unknown_monitor()
        transitions = new_transitions(n * m, n, 0 if self.known_monitor else steps)
        rows = len(known.probability) + len(transitions.times)
        return MBIEMemory(
            q=np.full((n, m), float(self.q_max)),
            visits=np.zeros(n * m, np.int64),
            observe_q=np.full((n, m), 1.0 / (1.0 - world.discount)),
            pair_counts=np.zeros(n * m, np.int64),
            state_counts=np.zeros(n, np.int64),
            env_counts=np.zeros(world.n_env_pairs, np.int64),
            env_state_counts=np.zeros(world.n_env_states, np.int64),
            reward_counts=np.zeros(world.n_env_pairs, np.int64),
            reward_model=np.full(world.n_env_pairs, float(self.minimum_reward)),
            reward_state_counts=np.zeros(world.n_env_states, np.int64),
            monitor_counts=np.zeros(monitor_pairs, np.int64),
            monitor_model=np.zeros(monitor_pairs),
            monitor_state_counts=np.zeros(world.n_monitor_states, np.int64),
            ended=np.zeros(world.n_env_pairs, np.bool_),
            transitions=transitions,
            known=known,
            outcome_counts=np.zeros(len(known.env_next_state), np.int64),
            tried=np.zeros(n * m, np.int64),
            tries=np.zeros(n * m),
            rewards=np.zeros(n * m),
            bounds=np.zeros(n * m + 1, np.int64),
            weights=np.zeros(rows),
            next_states=np.zeros(rows, np.int64),
            values=np.zeros(n),
            episodes=np.zeros(3, np.int64),
            env_state=world.env_state,
            monitor_state=world.monitor_state,
            n_env_actions=m // world.n_monitor_actions,
            n_monitor_actions=world.n_monitor_actions,
            bonus=float(self.bonus),
            observe_bonus=float(self.observe_bonus),
            observe_base=float(self.observe_base),
            observe_times=int(self.observe_times),
            observe_while_unseen=self.observe_while_unseen,
            sweeps=int(self.sweeps),
            sticky=self.termination == "sticky",
            knows_monitor=self.known_monitor,
            discount=world.discount,
        )

    def memory_bytes(self, world: World, steps: int) -> int:
        """Eight tables over pairs, and six numbers a known transition."""
        pairs = world.n_states * world.n_actions
        rows = 5 * len(world.probability) if self.known_monitor else min(steps, pairs * world.n_states)
        return 72 * pairs + 48 * rows

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """All pairs are swept before an episode, whose length is not known."""
        return 2e-8 * world.n_states * world.n_actions, 0.0
