"""The factored model in plain Python: counters keyed by what they count."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from monmdp.problem import MonMDP
from reference.mbie import experienced, known_branches

#: A pair is separated when twice the log of the likelihood ratio exceeds this for each outcome known.
SEPARATION = 4.0


class Successors(NamedTuple):
    """What may follow a pair: (chance, state) each, and the chance that the episode ends."""

    rows: list[tuple[float, int]]
    ending: float


def likelihood_ratio(own: Counter[Any], others: Counter[Any]) -> tuple[float, int]:
    """2 log of the likelihood ratio of own counts under own rates and under the others', and the outcomes known."""
    outcomes = sorted(k for k in {*own, *others} if own[k] > 0 or others[k] > 0)
    if len(outcomes) < 2:
        return 0.0, len(outcomes)
    total, rest = float(own.total()), float(others.total())
    ratio = 0.0
    for k in outcomes:
        if own[k] > 0:
            ratio += 2.0 * own[k] * math.log(own[k] / total * (rest + 0.5 * len(outcomes)) / (others[k] + 0.5))
    return ratio, len(outcomes)


class Pool:
    """Counts of pairs that are pooled as long as they look alike; those that are not alike are separated."""

    def __init__(self) -> None:
        self.own: defaultdict[int, Counter[Any]] = defaultdict(Counter)
        self.pooled: defaultdict[int, Counter[Any]] = defaultdict(Counter)
        self.separated: set[int] = set()

    def count(self, pair: int, pool: int, outcome: Any) -> bool:
        """One more outcome of a pair; returns whether something is new."""
        own, pooled, news = self.own[pair], self.pooled[pool], False
        own[outcome] += 1
        if pair not in self.separated:
            news = pooled[outcome] == 0
            pooled[outcome] += 1
        return self.reconsider(pair, pool) or news

    def reconsider(self, pair: int, pool: int) -> bool:
        """Whether a pair should be separated; returns whether that is new."""
        own, others = self.own[pair], self.pooled[pool].copy()
        if pair not in self.separated:
            others.subtract(own)
        ratio, known = likelihood_ratio(own, others)
        if (ratio > SEPARATION * known) == (pair in self.separated):
            return False
        self.separated ^= {pair}
        self.pooled[pool] = others if pair in self.separated else others + own
        return True

    def of(self, pair: int, pool: int) -> Counter[Any]:
        """The counts that are used for a pair."""
        return self.own[pair] if pair in self.separated else self.pooled[pool]


class PlainModel:
    """P̂(s′ | s,a) = (1 − P̂(end | s,a)) · P̂E(sE′ | sE,aE) · P̂M(sM′ | s,a)"""

    def __init__(self, options: Any, problem: MonMDP) -> None:
        self.options, self.problem = options, problem
        entered = np.zeros(problem.n_states, np.bool_)
        entered[problem.next_state[problem.reachable_pairs[problem.pair_of_outcome]]] = True
        #: States that exist: those to act in, then those that are only entered.
        self.states = [*np.flatnonzero(problem.reachable), *np.flatnonzero(entered & ~problem.reachable)]
        self.exists = set(map(int, self.states))
        self.tries: Counter[int] = Counter()
        self.visits: Counter[int] = Counter()
        self.moves: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self.ends, self.shifts = Pool(), Pool()
        self.met: Counter[int] = Counter()
        self.asked: Counter[int] = Counter()
        self.shown: Counter[int] = Counter()
        self.own_reward: defaultdict[int, float] = defaultdict(float)
        self.pooled_reward: defaultdict[int, float] = defaultdict(float)
        self.known = known_branches(problem) if options.known_monitor else {}
        self.outcomes: defaultdict[int, Counter[tuple[int, bool]]] = defaultdict(Counter)
        self.continued: set[int] = set()
        self.varied: set[int] = set()
        self.peculiar: set[int] = set()
        self.changes = 0

    def row(self, pair: int) -> int:
        """The pair by which environment counts are kept: the environment's if pooled, else the joint one."""
        return int(self.problem.env_pair[pair]) if self.options.pool_environment else pair

    def has_continued(self, pair: int) -> bool:
        """Whether an episode ever went on after a pair with the same monitor state and action."""
        return self.context(pair) in self.continued

    def context(self, pair: int) -> int:
        """The monitor's own pair of state and action."""
        state, action = divmod(pair, self.problem.n_actions)
        n_monitor_actions = len(self.problem.monitor.actions)
        return self.problem.split_state(state)[1] * n_monitor_actions + action % n_monitor_actions

    def learn(
        self, pair: int, next_state: int, terminated: bool, shown: bool, monitor_reward: float, given_up: bool
    ) -> None:
        """Count one step."""
        self.continued |= set() if terminated else {self.context(pair)}
        row, context = self.row(pair), self.context(pair)
        self.tries[row] += 1
        self.visits[pair] += 1
        self.met[context] += 1
        self.asked[context] += shown or not given_up
        self.shown[context] += shown
        self.own_reward[pair] += (monitor_reward - self.own_reward[pair]) / self.visits[pair]
        if self.met[context] > 1 and abs(monitor_reward - self.pooled_reward[context]) > 1e-9:
            self.varied.add(context)
        self.pooled_reward[context] += (monitor_reward - self.pooled_reward[context]) / self.met[context]
        self.changes += self.tries[row] == 1
        env_next, monitor_next = self.problem.split_state(next_state)
        if self.options.known_monitor:
            outcome = experienced(self.known[pair], env_next, next_state, terminated)
            if outcome is not None:
                outcomes = self.outcomes[int(self.problem.env_pair[pair])]
                self.changes += outcomes[outcome] == 0
                outcomes[outcome] += 1
            return
        if self.has_continued(pair):
            self.changes += self.ends.count(pair, row, terminated)
        else:
            self.ends.own[pair][True] += 1
            self.changes += pair not in self.ends.separated
            self.ends.separated.add(pair)
        if not terminated:
            self.changes += env_next not in self.moves[row]
            self.moves[row][env_next] = self.moves[row].get(env_next, 0) + 1
            self.changes += self.shifts.count(pair, context, monitor_next)
        separated = {pair} & (self.ends.separated | self.shifts.separated) if self.has_continued(pair) else set()
        met = sorted(other for other, times in self.visits.items() if times and self.has_continued(other))
        if self.met[context].bit_count() == 1:
            alike = [other for other in met if self.context(other) == context]
            self.changes += sum(self.shifts.reconsider(other, context) for other in alike)
            separated |= self.shifts.separated.intersection(alike)
        if self.tries[row].bit_count() == 1 and self.options.pool_environment:
            alike = [other for other in met if self.row(other) == row]
            self.changes += sum(self.ends.reconsider(other, row) for other in alike)
            separated |= self.ends.separated.intersection(alike)
        self.peculiar |= {int(self.problem.env_pair[other]) for other in separated}

    def is_predicted(self, pair: int, least_tries: float) -> bool:
        """Whether the factors tell what a joint pair does."""
        if self.options.known_monitor or not self.tries[self.row(pair)]:
            return self.tries[self.row(pair)] > 0
        context, env_pair = self.context(pair), int(self.problem.env_pair[pair])
        alike = context not in self.varied and env_pair not in self.peculiar
        return bool(self.options.pool_monitor and alike and self.met[context] >= least_tries)

    def price(self, pair: int) -> float:
        """What the monitor is expected to charge."""
        known = not self.options.known_monitor or self.problem.reachable_pairs[pair]
        return max(-self.monitor_reward(pair), 0.0) if known else 0.0

    def lowest_price(self) -> float:
        """The least that any context charges."""
        return min((max(-self.pooled_reward[c], 0.0) for c, times in self.met.items() if times), default=math.inf)

    def given(self, pair: int) -> tuple[float, float] | None:
        """Monitor reward and chance to show of a known monitor, over what the environment did so far."""
        outcomes = self.outcomes[int(self.problem.env_pair[pair])]
        if not outcomes:
            return None
        reward = chance = 0.0
        for outcome, known in self.known[pair].items():
            reward += outcomes[outcome] * known.reward
            chance += outcomes[outcome] * known.chance
        return reward / outcomes.total(), chance / outcomes.total()

    def monitor_reward(self, pair: int) -> float:
        """r̂M(s,a): given, the pair's own mean, or that of its context."""
        if self.options.known_monitor:
            given = self.given(pair)
            return 0.0 if given is None else given[0]
        return self.own_reward[pair] if self.visits[pair] else self.pooled_reward[self.context(pair)]

    def rate(self, context: int) -> float:
        """The smoothed frequency of observed rewards of a monitor pair; 1 at first."""
        return (self.shown[context] + 1.0) / (self.asked[context] + 1.0)

    def chance_shown(self, pair: int) -> float:
        """How likely a pair shows its reward."""
        if self.options.known_monitor and self.problem.reachable_pairs[pair]:
            given = self.given(pair)
            if given is not None:
                return given[1]
        return self.rate(self.context(pair))

    def best_chance(self) -> float:
        """The most likely showing of all contexts met; nothing is compared with it if the monitor is known."""
        if self.options.known_monitor:
            return 0.0
        return max((self.rate(context) for context, times in self.asked.items() if times), default=0.0)

    def outcomes_known(self, row: int) -> int:
        """In how many ways an environment pair has come out."""
        if self.options.known_monitor:
            return len(self.outcomes[row])
        return len(self.moves[row]) + (self.ends.pooled[row][True] > 0)

    def stays(self, row: int, env_state: int) -> bool:
        """Whether all that an environment pair has ever done is to stay in its state."""
        if self.options.known_monitor:
            return all(outcome == (env_state, False) for outcome in self.outcomes[row])
        return set(self.moves[row]) <= {env_state} and not self.ends.pooled[row][True]

    def successors(self, pair: int) -> Successors | None:
        """What may follow a pair, None where nothing is known about it."""
        row, context = self.row(pair), self.context(pair)
        if self.options.known_monitor:
            outcomes = self.outcomes[row]
            if not outcomes or not self.problem.reachable_pairs[pair]:
                return None
            rows, ending = [], 0.0
            for outcome, known in self.known[pair].items():
                share = outcomes[outcome] / outcomes.total()
                for probability, after, over in known.rows:
                    if over:
                        ending += share * probability
                    elif share > 0.0:
                        rows.append((share * probability, after))
            return Successors(rows, ending)
        if not self.visits[pair] and not (self.options.pool_monitor and self.tries[row] and self.met[context]):
            return None
        ends = self.ends.of(pair, row)
        shifts = self.shifts.of(pair, context) if self.options.pool_monitor else self.shifts.own[pair]
        n_moves, n_shifts = sum(self.moves[row].values()), shifts.total()
        if not n_moves or not n_shifts or not ends[False]:
            return Successors([], 1.0)
        ending = ends[True] / (ends[False] + ends[True])
        share = (1.0 - ending) / (n_moves * n_shifts)
        found = []
        for env_state, times in self.moves[row].items():
            for monitor_state in range(len(self.problem.monitor.states)):
                after = env_state * len(self.problem.monitor.states) + monitor_state
                if shifts[monitor_state] > 0 and after in self.exists:
                    found.append((share * (times * shifts[monitor_state]), after))
        return Successors(found, ending)
