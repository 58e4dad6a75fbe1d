"""Monitored MBIE-EB, written to be read next to its equations."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from monmdp.problem import Floats, MonMDP
from reference.base import PlainAgent


class Known(NamedTuple):
    """What the monitor does with a pair once the environment did its part: its rows, reward and chance to show."""

    rows: list[tuple[float, int, bool]]
    reward: float
    chance: float


def known_branches(problem: MonMDP) -> dict[int, dict[tuple[int, bool], Known]]:
    """Joint pair → (next environment state, whether the environment ended the episode) → what the monitor does."""
    table, monitor = problem.environment, problem.monitor
    found: dict[int, dict[tuple[int, bool], Known]] = {}
    for pair in range(problem.n_pairs):
        by_outcome: dict[tuple[int, bool], list[int]] = {}
        for row in range(monitor.offsets[pair], monitor.offsets[pair + 1]):
            k = monitor.env_outcome[row]
            by_outcome.setdefault((int(table.next_state[k]), bool(table.terminated[k])), []).append(row)
        found[pair] = {}
        for outcome in sorted(by_outcome):
            rows = by_outcome[outcome]
            n_alike = len({int(monitor.env_outcome[row]) for row in rows})
            reward = chance = 0.0
            branches = []
            for row in rows:
                probability = float(monitor.probability[row]) / n_alike
                reward += probability * float(monitor.reward[row])
                chance += probability * float(monitor.observe_probability[row])
                branches.append((probability, int(problem.next_state[row]), bool(problem.terminated[row])))
            found[pair][outcome] = Known(branches, reward, chance)
    return found


def experienced(
    branches: dict[tuple[int, bool], Known], env_next: int, next_state: int, terminated: bool
) -> tuple[int, bool] | None:
    """What the environment did; nothing can be said if the monitor may have ended the episode instead."""
    fitting = [
        outcome
        for outcome, known in branches.items()
        if outcome[0] == env_next
        and (
            outcome[1] == terminated
            or (terminated and any(after == next_state and ends for _, after, ends in known.rows))
        )
    ]
    return fitting[0] if len(fitting) == 1 else None


def log_f(total: int) -> float:
    """ln f(t) with f(t) = 1 + t ln² t"""
    log = math.log(total)
    return math.log(1.0 + total * log * log)


class PlainMBIE(PlainAgent):
    """Two optimistic models; counters are keyed by what they count."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        shape = (problem.n_states, problem.n_actions)
        self.q = np.full(shape, float(options.q_max))
        self.observe_q = np.full(shape, 1.0 / (1.0 - problem.discount))
        self.reward_model = np.full(self.n_env_pairs, float(options.minimum_reward))
        self.counts: Counter[Any] = Counter()
        self.monitor_model: dict[Any, float] = {}
        self.transitions: dict[int, dict[int, list[int]]] = {}
        self.env_outcomes: dict[int, Counter[tuple[int, bool]]] = {}
        self.ended: set[int] = set()
        self.known = known_branches(problem) if options.known_monitor else {}
        self.episode = self.observe_episodes = 0
        self.observing = False

    def begin(self, state: int, step: int) -> None:
        """Episode k observes iff log(k + 1e-4) / log(base) exceeds the number of observe episodes so far."""
        due = math.log(self.episode + 1e-4) / math.log(self.options.observe_base)
        self.observing = due > self.observe_episodes
        if self.options.observe_while_unseen and self.reward_counts.min() > 0:
            self.observing = False
        self.episode += 1
        self.observe_episodes += self.observing
        self.sweep(self.q, observing=False)
        if self.observing:
            self.sweep(self.observe_q, observing=True)

    def act(self, state: int, step: int) -> tuple[int, bool]:
        """Greedy on the model of the episode's mode."""
        return self.best_action((self.observe_q if self.observing else self.q)[state], step), self.observing

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Count."""
        pair = state * self.problem.n_actions + action
        env_state, monitor_state = self.problem.split_state(state)
        monitor_action = self.problem.split_action(action)[1]
        self.learn_reward(env_pair, proxy_reward)
        if not math.isnan(proxy_reward):
            self.counts["observed", env_state] += 1
        if self.options.known_monitor:
            after = self.problem.split_state(next_state)[0]
            outcome = experienced(self.known[pair], after, next_state, terminated)
            if outcome is not None:
                self.counts["environment pair", env_pair] += 1
                self.counts["environment", env_state] += 1
                self.env_outcomes.setdefault(env_pair, Counter())[outcome] += 1
                if outcome[1]:
                    self.ended.add(env_pair)
            return
        self.counts["pair", pair] += 1
        self.counts["state", state] += 1
        self.counts["monitor", monitor_state] += 1
        self.counts["monitor pair", monitor_state, monitor_action] += 1
        mean = self.monitor_model.get((monitor_state, monitor_action), 0.0)
        mean += (monitor_reward - mean) / self.counts["monitor pair", monitor_state, monitor_action]
        self.monitor_model[monitor_state, monitor_action] = mean
        times = self.transitions.setdefault(pair, {}).setdefault(next_state, [0, 0])
        times[0] += 1
        times[1] += terminated
        if terminated:
            self.ended.add(env_pair)

    def tries(self, pair: int) -> tuple[int, int]:
        """N(s,a) and N(s), of the environment's side if the monitor is known."""
        state = pair // self.problem.n_actions
        if self.options.known_monitor:
            env_pair, env_state = int(self.problem.env_pair[pair]), self.problem.split_state(state)[0]
            return self.counts["environment pair", env_pair], self.counts["environment", env_state]
        return self.counts["pair", pair], self.counts["state", state]

    def bonus(self, count: int, total: int) -> float:
        """β √(ln f(t) / n), 0 if n = 0"""
        return float(self.options.bonus * math.sqrt(log_f(total) / count)) if count else 0.0

    def given(self, pair: int) -> list[tuple[int, Known]]:
        """How often each outcome of the environment came, and what the known monitor does then."""
        outcomes = self.env_outcomes[int(self.problem.env_pair[pair])]
        return [(outcomes[outcome], known) for outcome, known in self.known[pair].items() if outcomes[outcome]]

    def observe_reward(self, pair: int) -> float:
        """1[N_r < observe_times] · KLUCB + bonus"""
        count, total = self.tries(pair)
        reward = self.bonus(count, total)
        if self.reward_counts[self.problem.env_pair[pair]] < self.options.observe_times:
            if self.options.known_monitor:
                chance = 0.0
                for times, known in self.given(pair):
                    chance += times * known.chance
                return reward + chance / count
            reward += -math.expm1(-self.options.observe_bonus * log_f(total) / count)
        return reward

    def optimise_reward(self, pair: int) -> float:
        """bonus + r̂E + bonus + r̂M + bonus"""
        state, action = divmod(pair, self.problem.n_actions)
        env_state, monitor_state = self.problem.split_state(state)
        env_pair, monitor_action = int(self.problem.env_pair[pair]), self.problem.split_action(action)[1]
        seen = int(self.reward_counts[env_pair])
        reward = self.bonus(*self.tries(pair))
        reward += float(self.reward_model[env_pair]) + self.bonus(seen, self.counts["observed", env_state])
        if self.options.known_monitor:
            paid = 0.0
            for times, known in self.given(pair):
                paid += times * known.reward
            return reward + paid / self.tries(pair)[0]
        count, total = self.counts["monitor pair", monitor_state, monitor_action], self.counts["monitor", monitor_state]
        return reward + (self.monitor_model[monitor_state, monitor_action] + self.bonus(count, total))

    def successors(self, pair: int, observing: bool) -> list[tuple[float, int]]:
        """(weight, next state) of all that may follow; what ends the episode is left out unless observing."""
        sticky = self.options.termination == "sticky"
        if sticky and not observing and int(self.problem.env_pair[pair]) in self.ended:
            return []
        if self.options.known_monitor:
            return [
                (times * probability, after)
                for times, known in self.given(pair)
                for probability, after, ends in known.rows
                if observing or not ends
            ]
        return [
            (count if observing or sticky else count - ended, after)
            for after, (count, ended) in self.transitions[pair].items()
        ]

    def sweep(self, q: Floats, observing: bool) -> None:
        """Q(s,a) = r(s,a) + γ Σ P̂(s′|s,a) max Q(s′,·) for all tried pairs at once, in several sweeps."""
        tried = [pair for pair in np.flatnonzero(self.problem.reachable_pairs).tolist() if self.tries(pair)[0]]
        if not tried:
            return
        rewards = np.array([(self.observe_reward if observing else self.optimise_reward)(pair) for pair in tried])
        counts = np.array([self.tries(pair)[0] for pair in tried])
        rows = [self.successors(pair, observing) for pair in tried]
        width = max(map(len, rows))
        padded = np.array([row + [(0.0, 0)] * (width - len(row)) for row in rows]).reshape(len(rows), width, 2)
        weights, next_states = padded[..., 0], padded[..., 1].astype(int)
        for _ in range(self.options.sweeps):
            values = q.max(1)
            total = np.zeros(len(tried))
            for k in range(width):  # in order, as a loop over one pair's successors adds them
                total += weights[:, k] * values[next_states[:, k]]
            q.flat[tried] = rewards + self.discount * total / counts
