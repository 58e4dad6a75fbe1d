"""DirectedModel, written to be read next to its equations."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np

from monmdp.problem import Floats, MonMDP
from reference.base import PlainAgent
from reference.factored_model import PlainModel, Successors

PURPOSES = DISCOVER, VISIT, REFINE, RETRY = range(4)
GOAL_DISCOUNT, EXTRA_DEPTH, GOAL_ACCURACY, GOAL_SWEEPS, PLAN_STEPS, ATTEMPT_STEPS = 0.9, 1, 0.02, 40, 500, 25
NEARLY_SURE, LEAST_CHANCE, GIVE_UP_FACTOR, FINAL_GIVE_UP_FACTOR = 0.95, 0.01, 2.0, 8.0
VALUE_ACCURACY, POLICY_SWEEPS, IMPROVEMENTS = 1e-7, 50, 1000
REPEATS, RELIED, DOUBT_GROWTH = 5, 100, 0.1


class PlainDirectedModel(PlainAgent):
    """Goes to the nearest goal of the first purpose that has any, else is greedy on planned values."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        self.lowest = float(options.minimum_reward) if options.pessimism else 0.0
        self.q, self.acting_q = (np.zeros((problem.n_states, problem.n_actions)) for _ in range(2))
        self.values = np.zeros(problem.n_states)
        self.reward_model = np.full(self.n_env_pairs, self.lowest)
        self.rewards = OutcomeRewards()
        self.relied: Counter[int] = Counter()
        self.missed = np.zeros(self.n_env_pairs)
        self.given_up: set[int] = set()
        self.env_tries: Counter[int] = Counter()
        self.model = PlainModel(options, problem)
        self.discovered: set[int] = set()
        self.entered: set[int] = set()
        self.cut: Counter[int] = Counter()
        self.expected: int | None = None
        self.random: set[int] = set()
        self.starts: Counter[int] = Counter()
        self.smallest, self.lowest_paid, self.round = self.lowest, 0.0, 0
        self.goal_plan: GoalPlan | None = None
        self.nothing = dict.fromkeys(PURPOSES, (0, 0))
        self.planned_tries: Counter[int] = Counter()
        self.stale = self.acting_stale = True

    def begin(self, state: int, step: int) -> None:
        """Remember where episodes begin, and where the step limit struck before the agent could act."""
        if self.expected is not None:
            self.cut[self.problem.split_state(self.expected)[0]] += 1
            self.model.changes += 1
        self.expected = None
        self.model.changes += state not in self.starts
        self.starts[state] += 1

    def level(self) -> int:
        """The least number of visits of any known pair."""
        return int(self.visits[sorted(self.discovered)].min()) if self.discovered else 0

    def beta(self, step: int) -> float:
        level = self.level()
        return math.log(step + 2.0) / level if level else math.inf

    def act(self, state: int, step: int) -> tuple[int, bool]:
        """Try and see for the first time, then visit the least visited, then be sure, then be greedy."""
        if state not in self.discovered:
            self.discovered.add(state)
            self.model.changes += 1
            self.cut[self.problem.split_state(state)[0]] = 0
        self.entered.add(self.problem.split_state(state)[0])
        self.expected = None
        for purpose in PURPOSES:
            if self.is_due(purpose, step):
                action = self.follow(purpose, state, step)
                if action is not None:
                    return action, True
        if self.acting_stale:
            self.plan_values(self.acting_q, self.values)
            self.acting_stale = False
        n_actions, q = self.problem.n_actions, self.acting_q[state]
        equal = VALUE_ACCURACY * max(abs(q.max()), 1.0)
        prices = np.array([self.model.price(state * n_actions + a) for a in range(n_actions)])
        action = self.best_action(np.where(q >= q.max() - equal, -prices, -math.inf), step)
        self.relied[int(self.problem.env_pair[state * n_actions + action])] += 1
        return action, False

    def is_due(self, purpose: int, step: int) -> bool:
        """Whether anything may be left to do for a purpose."""
        if purpose == DISCOVER:
            return any(
                not self.env_tries[e] or (self.rewards.unseen_share(e) > 0.0 and e not in self.given_up)
                for e in self.entered_pairs()
            )
        level = self.level()
        return purpose != VISIT or level == 0 or math.log(step + 2.0) > self.options.beta_bar * level

    def entered_pairs(self) -> list[int]:
        """All environment pairs of the environment states that were ever entered."""
        n_env_actions = len(self.problem.environment.actions)
        return [env_state * n_env_actions + action for env_state in self.entered for action in range(n_env_actions)]

    def service(self, purpose: int, pair: int, step: int, level: int, best_chance: float) -> float:
        """g(s,a): how likely a pair serves the purpose."""
        state, row, env_pair = pair // self.problem.n_actions, self.model.row(pair), int(self.problem.env_pair[pair])
        tries, log_time = self.model.tries[row], math.log(step + 2.0)
        answers, untried = self.options.answers, any(not self.env_tries[e] for e in self.entered_pairs())
        may_ask = answers is None or self.rewards.seen.total() < answers
        may_look = may_ask and not (answers is not None and untried and purpose == DISCOVER)
        minds_cost = self.options.cost_weight > 0.0 or not may_ask
        is_paid = minds_cost and self.model.price(pair) > self.model.lowest_price() + 1e-9
        if purpose == VISIT:
            if self.visits.flat[pair] > level or state not in self.discovered or (is_paid and not may_ask):
                return 0.0
            is_spared = is_paid and log_time <= self.options.beta_bar * (level + 1)
            return 0.0 if is_spared and self.model.is_predicted(pair, log_time) else 1.0
        chance = self.model.chance_shown(pair)
        if purpose == DISCOVER:
            if tries == 0:
                is_cut = self.cut[self.problem.split_state(state)[0]] >= GIVE_UP_FACTOR * log_time
                return 0.0 if is_cut else 1.0 if answers is not None else 0.5 + 0.5 * chance
            patience = min(2.0**self.round, GIVE_UP_FACTOR * log_time)
            is_tired = self.reward_counts[env_pair] * self.options.beta_uncertain > log_time
            share = self.rewards.unseen_share(env_pair)
            is_open = self.options.observe and 0.0 < share >= self.options.accuracy and not is_tired
            is_worthwhile = may_look and self.missed[env_pair] < patience and chance >= 0.5 * best_chance
            return chance * share if is_open and is_worthwhile else 0.0
        is_uncertain = log_time > self.options.beta_certain * tries or (
            max(log_time, DOUBT_GROWTH * math.sqrt(step)) > self.options.beta_uncertain * tries
            and self.may_be_random(row, self.problem.split_state(state)[0])
        )
        if is_uncertain and ((purpose == RETRY and may_ask) or not is_paid):
            return NEARLY_SURE
        if purpose == RETRY:
            again = env_pair in self.given_up and self.missed[env_pair] < FINAL_GIVE_UP_FACTOR * log_time
        else:
            again = self.is_doubtful(env_pair, log_time)
        if not again or not may_look or chance < 0.5 * best_chance:
            return 0.0
        return min(chance, NEARLY_SURE) * (self.rewards.unseen_share(env_pair) if purpose == RETRY else 1.0)

    def may_be_random(self, row: int, env_state: int) -> bool:
        """Whether a pair had different outcomes, or always stayed in a state where others are random."""
        return self.model.outcomes_known(row) > 1 or (env_state in self.random and self.model.stays(row, env_state))

    def is_doubtful(self, env_pair: int, log_time: float) -> bool:
        """Whether a reward must be observed again."""
        seen = int(self.reward_counts[env_pair])
        if seen == 0 or seen * self.options.beta_uncertain > log_time:
            return False
        repeats, n_seen = self.rewards.repeats, int((self.reward_counts > 0).sum())
        unchecked = repeats < REPEATS and seen <= 1 + repeats // n_seen
        much_relied = self.relied[env_pair] >= RELIED * seen * seen
        rarely_seen = log_time > self.options.beta_bar * seen
        inaccurate = self.rewards.is_inaccurate(env_pair, self.options.accuracy)
        return unchecked or much_relied or rarely_seen or inaccurate

    def kept(self, state: int) -> list[float]:
        """κ(s,a): what is left of a goal after its price, [A]."""
        n, highest, weight = self.problem.n_actions, -self.lowest_paid, self.options.cost_weight
        loss = (1.0 - GOAL_DISCOUNT**weight) / highest if highest > 0.0 else 0.0
        return [1.0 - loss * min(self.model.price(state * n + a), highest) if loss > 0.0 else 1.0 for a in range(n)]

    def serve(self, purpose: int, states: list[int], step: int) -> list[list[float]]:
        """g(s,a) of all actions of some states, [states][A]."""
        level, best_chance, n = self.level(), self.model.best_chance(), self.problem.n_actions
        return [[self.service(purpose, s * n + a, step, level, best_chance) for a in range(n)] for s in states]

    def follow(self, purpose: int, state: int, step: int) -> int | None:
        """The action toward the goals of a purpose, None if there are none."""
        until, changes = self.nothing[purpose]
        if step < until and changes == self.model.changes:
            return None
        here = self.serve(purpose, [state], step)[0]
        if max(here) >= NEARLY_SURE:
            if self.goal_plan is not None:
                self.goal_plan.left = 0
            return self.best_action(np.array(here) * np.array(self.kept(state)), step)
        plan = self.goal_plan
        if plan is None or not plan.is_current(purpose, self.model.changes, state) or not plan.found or plan.left <= 0:
            plan = self.goal_plan = GoalPlan(self, purpose, state, step)
            while not plan.found and purpose == DISCOVER and 2.0**self.round < GIVE_UP_FACTOR * math.log(step + 2.0):
                self.round += 1
                plan = self.goal_plan = GoalPlan(self, purpose, state, step)
            if not plan.found:
                self.nothing[purpose] = (step + step // 16 + 16, self.model.changes)
                return None
        i = plan.place[state]
        action = self.best_action(np.array([plan.worth(i, a) for a in range(self.problem.n_actions)]), step)
        serves = plan.serves[i][action]
        plan.left -= ATTEMPT_STEPS if serves > 0.0 else 1
        if serves >= NEARLY_SURE or (purpose >= REFINE and serves > 0.0):
            plan.left = 0
        return action

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Count, and see whether a reward must be given up."""
        pair, shown = state * self.problem.n_actions + action, not math.isnan(proxy_reward)
        self.env_tries[env_pair] += 1
        self.model.learn(pair, next_state, terminated, shown, monitor_reward, env_pair in self.given_up)
        if self.model.outcomes_known(self.model.row(pair)) > 1:
            self.random.add(self.problem.split_state(state)[0])
        self.lowest_paid = min(self.lowest_paid, monitor_reward)
        self.expected = None
        if not terminated:
            self.entered.add(self.problem.split_state(next_state)[0])
            self.expected = next_state
        is_clear = not terminated or self.model.has_continued(pair)
        outcome = 2 * self.problem.split_state(next_state)[0] + (terminated and is_clear)
        if not self.options.reward_per_outcome:
            outcome, is_clear = 0, True
        outcome = self.rewards.occurred(env_pair, outcome, is_clear)
        if shown:
            self.see(env_pair, outcome, proxy_reward)
        elif not self.rewards.seen[env_pair, outcome]:
            self.miss(env_pair, max(self.model.chance_shown(pair), LEAST_CHANCE), math.log(step + 2.0))
        if self.reward_counts[env_pair]:
            self.reward_model[env_pair] = self.rewards.expected(env_pair, self.lowest, self.options.accuracy)
        self.stale = True
        row = self.model.row(pair)
        if self.model.tries[row] >= 2 * self.planned_tries[row]:
            self.planned_tries[row] = self.model.tries[row]
            self.acting_stale = True

    def see(self, env_pair: int, outcome: int, reward: float) -> None:
        """The reward of an outcome is shown."""
        self.given_up.discard(env_pair)
        self.missed[env_pair] = 0.0
        if not self.rewards.seen[env_pair, outcome]:
            self.model.changes += 1
            self.acting_stale = True
        self.reward_counts[env_pair] += 1
        self.rewards.observe(env_pair, outcome, reward)
        self.smallest = min(self.smallest, reward)

    def miss(self, env_pair: int, chance: float, log_time: float) -> None:
        """A reward never seen could have been seen now."""
        before = self.missed[env_pair]
        self.missed[env_pair] += chance
        self.model.changes += int(before < 2.0**self.round <= self.missed[env_pair])
        if (self.missed[env_pair] >= GIVE_UP_FACTOR * log_time) != (env_pair in self.given_up):
            self.given_up ^= {env_pair}
            self.model.changes += 1

    def plan(self, step: int) -> None:
        """Q is about to be evaluated."""
        if self.stale:
            self.plan_values(self.q, self.values.copy())
            self.stale = False

    def plan_values(self, q: Floats, values: Floats) -> None:
        """Q(s,a) = R̂ + r̂M + γ Σ P̂(s′|s,a) max Q(s′,·), by modified policy iteration."""
        n_actions = self.problem.n_actions
        known = self.entered
        bottom = (self.smallest + min(self.lowest_paid, 0.0)) / (1.0 - self.discount)
        laid_out: dict[int, dict[int, tuple[float, Successors]]] = {}
        for state in map(int, self.model.states):
            if self.problem.split_state(state)[0] not in known:
                values[state] = bottom
                q[state] = bottom
                continue
            laid_out[state] = {}
            for action in range(n_actions):
                pair = state * n_actions + action
                successors = self.model.successors(pair)
                if successors is not None:
                    reward = self.reward_model[self.problem.env_pair[pair]] + self.model.monitor_reward(pair)
                    laid_out[state][action] = (reward, successors)

        def look_ahead(reward: float, successors: Successors) -> float:
            total = 0.0
            for chance, after in successors.rows:
                total += chance * values[after]
            return reward + self.discount * total

        for _ in range(IMPROVEMENTS):
            change, largest = 0.0, 1.0
            for state, choices in laid_out.items():
                q[state] = bottom
                for action, (reward, successors) in choices.items():
                    q[state, action] = look_ahead(reward, successors)
            best = {s: list(choices)[int(q[s, list(choices)].argmax())] for s, choices in laid_out.items() if choices}
            for state in laid_out:
                value = q[state, best[state]] if state in best else bottom
                change, largest = max(change, abs(value - values[state])), max(largest, abs(value))
                values[state] = value
            enough = VALUE_ACCURACY * largest * (1.0 - self.discount)
            if change * self.discount <= enough:
                break
            for _ in range(POLICY_SWEEPS):
                change = 0.0
                for state, action in best.items():
                    value = look_ahead(*laid_out[state][action])
                    change = max(change, abs(value - values[state]))
                    values[state] = value
                if change * self.discount <= enough:
                    break


class OutcomeRewards:
    """R̂(sE,aE) = Σ_o N(o) / N(sE,aE) · r̂(o), over outcomes o, 2 · next environment state + end."""

    def __init__(self) -> None:
        self.times: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.unclear: set[tuple[int, int]] = set()
        self.seen: Counter[tuple[int, int]] = Counter()
        self.mean: defaultdict[tuple[int, int], float] = defaultdict(float)
        self.squares: defaultdict[tuple[int, int], float] = defaultdict(float)
        self.seen_anywhere: Counter[int] = Counter()
        self.mean_anywhere: defaultdict[int, float] = defaultdict(float)
        self.noisy, self.repeats, self.range = False, 0, 0.0

    def occurred(self, env_pair: int, outcome: int, is_clear: bool) -> int:
        """Count an outcome and return it; where the monitor may have ended the episode, it is not clear, and a clear
        one with the same next state replaces it."""
        times, other = self.times[env_pair], outcome ^ 1
        clear = [o for o in times if o // 2 == outcome // 2 and (env_pair, o) not in self.unclear]
        if not is_clear and clear:
            return clear[-1]
        for table in (self.seen, self.mean, self.squares):
            if is_clear and (env_pair, other) in self.unclear and (env_pair, other) in table:
                table[env_pair, outcome] = table.pop((env_pair, other))
        if is_clear and (env_pair, other) in self.unclear:
            times = Counter({outcome if key == other else key: n for key, n in times.items()})
        times[outcome] += 1
        self.times[env_pair] = times
        if is_clear:
            self.unclear -= {(env_pair, outcome), (env_pair, other)}
        else:
            self.unclear.add((env_pair, outcome))
        return outcome

    def observe(self, env_pair: int, outcome: int, reward: float) -> None:
        """The running mean and squared deviations of an outcome; the range of all means at powers of two."""
        key = (env_pair, outcome)
        self.repeats += self.seen[key] > 0
        self.seen[key] += 1
        error = reward - self.mean[key]
        self.mean[key] += error / self.seen[key]
        self.squares[key] += error * (reward - self.mean[key])
        self.noisy = self.noisy or (self.squares[key] > 1e-12 and self.seen[key] > 1)
        self.seen_anywhere[outcome] += 1
        self.mean_anywhere[outcome] += (reward - self.mean_anywhere[outcome]) / self.seen_anywhere[outcome]
        if self.seen.total().bit_count() == 1:
            self.range = max(self.mean.values()) - min(self.mean.values())

    def expected(self, env_pair: int, lowest: float, accuracy: float) -> float:
        """R̂ of a pair; `lowest` where an outcome was never observed, unless that is rare."""
        total, are_rare = 0.0, self.unseen_share(env_pair) < accuracy
        for outcome, times in self.times[env_pair].items():
            reward = self.mean[env_pair, outcome]
            if not self.seen[env_pair, outcome]:
                reward = self.mean_anywhere[outcome] if are_rare and self.seen_anywhere[outcome] else lowest
            total += times / self.times[env_pair].total() * reward
        return total

    def unseen_share(self, env_pair: int) -> float:
        """The fraction of the outcomes of a pair that have a reward never seen; 0 for pairs never tried."""
        unseen = sum(n for outcome, n in self.times[env_pair].items() if not self.seen[env_pair, outcome])
        return unseen / max(self.times[env_pair].total(), 1)

    def is_inaccurate(self, env_pair: int, accuracy: float) -> bool:
        """Whether with noise an outcome was not seen often enough."""
        seen = {outcome: self.seen[env_pair, outcome] for outcome in self.times[env_pair]}
        if not self.noisy or 1 in seen.values():
            return self.noisy
        variance = 0.0
        for outcome, n in seen.items():
            if n > 1:
                share = self.times[env_pair][outcome] / self.times[env_pair].total()
                variance += share * share * (self.squares[env_pair, outcome] / (n - 1) / n)
        return 1.96 * math.sqrt(variance) > accuracy * self.range


class GoalPlan:
    """A search from a state and a plan for what it met.

    W(s) = max_a κ(s,a) [g(s,a) + (1 − g(s,a)) γ_W Σ P̂(s′|s,a) W(s′)]
    """

    def __init__(self, agent: PlainDirectedModel, purpose: int, origin: int, step: int) -> None:
        self.purpose, self.changes, self.left, self.found = purpose, agent.model.changes, PLAN_STEPS, False
        self.states, self.place, self.decay = [origin], {origin: 0}, [1.0]
        self.serves: list[list[float]] = []
        self.kept: list[list[float]] = []
        self.successors: list[list[Successors | None]] = []
        n_actions = agent.problem.n_actions
        depth, last = 0, math.inf
        while len(self.serves) < len(self.states) and depth <= last:
            layer = self.states[len(self.serves) :]
            serves = agent.serve(purpose, layer, step)
            if not self.found and any(g > 0.0 for row in serves for g in row):
                self.found, last = True, depth + EXTRA_DEPTH
            laid_out = [[agent.model.successors(s * n_actions + a) for a in range(n_actions)] for s in layer]
            self.serves += serves
            self.kept += [agent.kept(s) for s in layer]
            self.successors += laid_out
            if depth < last:
                self.go_on(laid_out, agent.starts)
            depth += 1
            self.decay += [self.decay[-1] * GOAL_DISCOUNT] * (len(self.states) - len(self.decay))
        self.values, self.restart = [0.0] * len(self.states), 0.0
        if self.found:
            self.sweep(agent.starts)

    def go_on(self, laid_out: list[list[Successors | None]], starts: Counter[int]) -> None:
        """Meet all that may follow; where an episode may end, its starts follow."""
        pairs = [pair for row in laid_out for pair in row if pair is not None]
        after = [state for pair in pairs for _, state in pair.rows]
        if any(pair.ending > 0.0 for pair in pairs):
            after += list(starts)
        for state in after:
            if state not in self.place:
                self.place[state] = len(self.states)
                self.states.append(state)

    def is_current(self, purpose: int, changes: int, state: int) -> bool:
        """Whether this plan still leads a state to the goals of a purpose."""
        return self.purpose == purpose and self.changes == changes and state in self.place

    def worth(self, i: int, action: int) -> float:
        """κ [g + (1 − g) γ_W (Σ P̂ W + P̂(end) W(start))], solved for what comes back to the same state."""
        service, kept, pair = self.serves[i][action], self.kept[i][action], self.successors[i][action]
        if service >= 1.0:
            return kept * service
        ahead, back = 0.0 * self.restart, 0.0
        if pair is not None:
            ahead = pair.ending * self.restart
            for chance, state in pair.rows:
                target = self.place.get(state, -1)
                if target == i:
                    back += chance
                elif target >= 0:
                    ahead += chance * self.values[target]
        still = kept * (1.0 - service) * GOAL_DISCOUNT
        return (kept * service + still * ahead) / (1.0 - still * back)

    def sweep(self, starts: Counter[int]) -> None:
        """Solve W backwards from the states met last."""
        for _ in range(GOAL_SWEEPS):
            change = 0.0
            for i in range(len(self.serves) - 1, -1, -1):
                best = max(0.0, *(self.worth(i, action) for action in range(len(self.serves[i]))))
                if self.decay[i] * best > self.values[0]:
                    change = max(change, self.decay[i] * (best - self.values[i]))
                self.values[i] = best
            restart = 0.0
            for state, times in starts.items():
                if state in self.place:
                    restart += times * self.values[self.place[state]]
            self.restart = restart / max(starts.total(), 1)
            if change <= GOAL_ACCURACY * self.values[0]:
                break
