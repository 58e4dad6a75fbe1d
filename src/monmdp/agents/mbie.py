"""Monitored MBIE-EB: plans on two optimistic models, one to earn and one to observe, before every episode.

N(s) = Σ_a N(s,a); bonus(n, t) = β √(ln f(t) / n), 0 if n = 0, with f(t) = 1 + t ln² t
Q(s,a) = r(s,a) + γ Σ P̂(s′|s,a) max Q(s′,·) for tried pairs, by a fixed number of synchronous sweeps
  optimise: r = r̂E + bonus(N_r(sE,aE), N_r(sE)) + r̂M + bonus(N_M(sM,aM), N_M(sM)) + bonus(N(s,a), N(s)),
            r̂E = minimum_reward if no reward was observed; Q = q_max for pairs never tried
  observe:  r = 1[N_r(sE,aE) = 0] (1 − f(N(s))^(−β_KL / N(s,a))) + bonus(N(s,a), N(s)),
            Q = 1 / (1 − γ) for pairs never tried; ends of episodes are ignored
Episode k = 0, 1, … observes if log(k + 1e-4) / log(observe_base) > number of observe episodes so far.

Known monitor: N(s,a), N(s) and P̂ are the environment's, pooled over the monitor and combined with the monitor's own
probabilities; the monitor's expected reward replaces r̂M + bonus, and its probability of observing the KL bound.
The optimise model is planned before every episode, the observe model before episodes that observe. q is the table that
the current episode began with, so evaluation changes nothing.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from monmdp.agents import arrays
from monmdp.agents.base import AGENTS, Agent, Transition
from monmdp.agents.choices import choose, largest, smallest
from monmdp.agents.known_monitor import KnownMonitor, count_experience, expected_monitor, known_monitor, write_known_row
from monmdp.agents.q_learning import learn_reward
from monmdp.check import Count, NonNegative
from monmdp.errors import MonMDPError
from monmdp.exact.structure import Bounds
from monmdp.kernels.bellman import backup
from monmdp.kernels.compile import inlined, internal, kernel
from monmdp.world import World

#: Keeps the logarithm of episode 0 finite.
FIRST_EPISODE = 1e-4


MBIEMemory: Any = arrays.array_tuple(
    __name__,
    "MBIEMemory",
    """Two tables, the counts and means behind them, and the model, which is rebuilt before planning.

    Each pair has a row in `rows`, whose weights are counts.
    """,
    q="float states actions",
    visits="int pairs",
    observe_q="float states actions",
    pair_counts="int pairs",  # N(s,a) of the model
    reward_counts="int env_pairs",  # N_r(sE,aE)
    reward_model="float env_pairs",
    monitor_counts="int monitor_pairs",  # N_M(sM,aM)
    monitor_model="float monitor_pairs",
    ended="bool env_pairs",  # whether a pair ever ended an episode
    transitions=arrays.Transitions,
    known=KnownMonitor,
    rewards="float pairs",  # r(s,a)
    rows=arrays.Rows,
    values="float states",
    episodes={"begun": "int", "observed": "int", "observes": "bool"},  # the last is about the current episode
    env_pair="int pairs",
    monitor_pair="int pairs",
    n_env_actions=int,
    n_monitor_actions=int,
    bonus=float,
    observe_bonus=float,
    observe_base=float,
    observe_times=int,
    observe_while_unseen=bool,
    sweeps=int,
    sticky=bool,
    known_monitor=bool,
    discount=float,
)


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
    """KL-UCB of the probability of an event that never occurred: 1 − f(t)^(−β_KL / n)."""
    return -math.expm1(-scale * log_f(total) / count)


@kernel
def state_total(counts, pair, n_actions):
    """N(s) = Σ_a N(s,a) for the state of a pair, from counts [S * A]."""
    total, first = 0, pair - pair % n_actions
    for action in range(n_actions):
        total += counts[first + action]
    return total


@inlined
def act_mbie(memory, state, draws):
    """Greedy on the table of the episode's mode."""
    observing = memory.episodes[0].observes
    table = memory.observe_q if observing else memory.q
    return choose(table[state], draws), observing


@inlined
def update_mbie(memory, transition):
    """Count the transition; planning waits for the next episode."""
    pair, env_pair = transition.state * memory.q.shape[1] + transition.action, transition.env_pair
    next_state, terminated = transition.next_state, transition.terminated
    learn_reward(memory, env_pair, transition.proxy_reward)
    if memory.known_monitor:
        after = memory.env_pair[next_state * memory.q.shape[1]] // memory.n_env_actions
        outcome = count_experience(memory.known, pair, after, next_state, terminated)
        memory.ended[env_pair] |= outcome >= 0 and memory.known.env_terminated[outcome]
    else:
        monitor_pair = memory.monitor_pair[pair]
        memory.monitor_counts[monitor_pair] += 1
        error = transition.monitor_reward - memory.monitor_model[monitor_pair]
        memory.monitor_model[monitor_pair] += error / memory.monitor_counts[monitor_pair]
        arrays.count_transition(memory.transitions, pair, next_state, terminated)
        memory.ended[env_pair] |= terminated


@internal
def build_model(memory, observing):
    """Write rewards and rows of the pairs that were tried; with a known monitor also their counts."""
    known, transitions, rows, bonus = memory.known, memory.transitions, memory.rows, memory.bonus
    entry, n_env_actions = 0, memory.n_env_actions
    for pair in range(len(memory.visits)):
        env_pair, monitor_pair = memory.env_pair[pair], memory.monitor_pair[pair]
        count, total, given_reward, given_chance = 0, 0, 0.0, 0.0
        if not memory.known_monitor:
            count, total = transitions.total[pair], state_total(transitions.total, pair, memory.q.shape[1])
        elif pair < len(known.env_pair):
            count, total = known.tries[env_pair], state_total(known.tries, env_pair, n_env_actions)
            given_reward, given_chance = expected_monitor(known, pair)
        memory.pair_counts[pair], rows.offsets[pair + 1] = count, entry
        if count == 0:
            continue
        reward, seen = confidence(bonus, count, total), memory.reward_counts[env_pair]
        if observing:
            if seen < memory.observe_times:
                reward += given_chance if memory.known_monitor else observe_bound(memory.observe_bonus, count, total)
        else:
            total_seen = state_total(memory.reward_counts, env_pair, n_env_actions)
            reward += memory.reward_model[env_pair] + confidence(bonus, seen, total_seen)
            if memory.known_monitor:
                reward += given_reward
            else:
                tries = memory.monitor_counts[monitor_pair]
                total_tries = state_total(memory.monitor_counts, monitor_pair, memory.n_monitor_actions)
                reward += memory.monitor_model[monitor_pair] + confidence(bonus, tries, total_tries)
        memory.rewards[pair] = reward
        if observing or not (memory.sticky and memory.ended[env_pair]):
            if memory.known_monitor:
                entry, _ = write_known_row(known, pair, 1, observing, rows, entry)
            else:
                node = transitions.first[pair]
                while node >= 0:
                    times = transitions.times[node]
                    times -= 0 if observing or memory.sticky else transitions.ended[node]
                    if times > 0:
                        rows.weight[entry] = times
                        rows.next_state[entry] = transitions.next_state[node]
                        entry += 1
                    node = transitions.following[node]
        rows.offsets[pair + 1] = entry


@internal
def plan_table(memory, q, observing):
    """Sweep q [S, A] on the observe model or the optimise model, until nothing changes or for `sweeps` sweeps."""
    build_model(memory, observing)
    n_actions, values, counts, rewards = q.shape[1], memory.values, memory.pair_counts, memory.rewards
    discount = memory.discount
    offsets, weight, next_state = memory.rows.offsets, memory.rows.weight, memory.rows.next_state
    for _ in range(memory.sweeps):
        for state in range(len(values)):
            values[state] = largest(q[state])
        changed = False
        for pair in range(len(counts)):
            if counts[pair] > 0:
                future = discount * backup(offsets, weight, next_state, values, pair) / counts[pair]
                value = rewards[pair] + future
                state, action = pair // n_actions, pair % n_actions
                changed |= value != q[state, action]
                q[state, action] = value
        if not changed:
            break


@kernel
def begin_mbie(memory, state, step):
    """Choose the mode of the episode, and plan."""
    episodes = memory.episodes[0]
    observing = math.log(episodes.begun + FIRST_EPISODE) / math.log(memory.observe_base) > episodes.observed
    if memory.observe_while_unseen and smallest(memory.reward_counts) > 0:
        observing = False
    episodes.begun += 1
    episodes.observed += observing
    episodes.observes = observing
    plan_table(memory, memory.q, False)
    if observing:
        plan_table(memory, memory.observe_q, True)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class MonitoredMBIE(Agent):
    """Plans on optimistic models: in some episodes to observe rewards never observed, in the others to earn.

    bonus: β of the confidence bonuses. observe_bonus: β_KL of the bound on the probability of observing.
    sweeps: sweeps of value iteration before an episode.
    observe_base: base of the logarithm that determines the number of episodes that observe.
    observe_times: a reward is worth observing until it was observed this number of times; 1 is published.
    observe_while_unseen: stop observing once the reward of every environment pair was observed.
    q_max: value of pairs never tried; by default the paper's on its problems, else the largest return that the
    problem's visible rewards allow.
    minimum_reward: used for rewards never observed; by default the paper's on its problems, else the smallest reward
    that can be observed.
    termination: "sticky" assumes that an environment pair that once ended an episode always does, as published;
    "probability" counts.
    known_monitor: the monitor is given, and only the environment is estimated.
    """

    bonus: NonNegative = 5e-4
    observe_bonus: NonNegative = 0.05
    sweeps: Count = 50
    observe_base: float = 1.005
    observe_times: Count = 1
    observe_while_unseen: bool = False
    q_max: float | None = None
    minimum_reward: float | None = None
    termination: Literal["sticky", "probability"] = "sticky"
    known_monitor: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.observe_base > 1.0:
            raise MonMDPError(f"The observe base must be above 1, not {self.observe_base!r}.")

    act = act_mbie
    update = update_mbie
    begin = begin_mbie
    device_kernel = "warp"

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"q_max": bounds.maximum_value, "minimum_reward": bounds.minimum_reward}

    def memory(self, world: World, steps: int, seed: int) -> Any:
        if self.q_max is None or self.minimum_reward is None:
            raise MonMDPError("MonitoredMBIE needs q_max and minimum_reward, or in live training a reward_range.")
        n, m = world.n_states, world.n_actions
        env_pair, monitor_pair = arrays.pair_factors(world)
        known = known_monitor(world) if self.known_monitor else arrays.zeros(KnownMonitor, {})
        transitions = arrays.new_transitions(n * m, n, 0 if self.known_monitor else steps)
        return arrays.zeros(
            MBIEMemory,
            arrays.world_sizes(world, len(known.probability) + len(transitions.times)),
            self,
            world,
            q=np.full((n, m), float(self.q_max)),
            observe_q=np.full((n, m), 1.0 / (1.0 - world.discount)),
            reward_model=np.full(world.n_env_pairs, float(self.minimum_reward)),
            transitions=transitions,
            known=known,
            env_pair=env_pair,
            monitor_pair=monitor_pair,
            n_env_actions=m // world.n_monitor_actions,
            sticky=self.termination == "sticky",
        )

    def answered(self, memory: Any, transition: Transition) -> None:
        """Count the reward of an earlier transition."""
        learn_reward(memory, transition.env_pair, transition.proxy_reward)

    def memory_bytes(self, world: World, steps: int) -> int:
        """Nine tables over pairs, and six numbers per known transition."""
        pairs = world.n_states * world.n_actions
        rows = 5 * len(world.probability) if self.known_monitor else min(steps, pairs * world.n_states)
        return 72 * pairs + 48 * rows

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """All pairs are swept before an episode, whose length is not known."""
        return 2e-8 * world.n_states * world.n_actions, 0.0
