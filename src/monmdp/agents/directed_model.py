"""DirectedModel: directed exploration on a factored model, toward what is least known, with plans instead of Ŝ.

Goals, nearest first:
  1. environment pairs never tried, and rewards never seen, where they can be seen;
  2. the least visited joint pairs, while log(t + 2) / N(s,a) > β̄;
  3. environment pairs with log(t + 2) / N(sE,aE) > β̄E, which is smaller for moves that may be random, and noisy
     rewards whose mean is not accurate enough yet.
Without goals, greedy on Q: Q(s,a) = R̂ + r̂M + γ Σ P̂(s′|s,a) max Q(s′,·), R̂ the minimum reward where none was seen.
A reward that should have been seen log(t + 2) times by now, and was not, is given up until its pair is tried again.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent
from monmdp.agents.choices import choose
from monmdp.agents.factored_model import (
    FactoredModel,
    best_chance_shown,
    chance_shown,
    lay_out,
    learn_model,
    new_factored_model,
    outcomes_known,
    row_of,
    stays,
    transitions_of,
)
from monmdp.agents.goals import BEYOND, Way, begin_search, go_on, new_way, note_start, settle, sweep_way, weigh
from monmdp.agents.model_planning import Plan, new_plan, plan_values
from monmdp.errors import MonMDPError
from monmdp.exact.bounds import Bounds
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Booleans, Floats, Integers
from monmdp.world import World

#: Pairs that serve this well are taken where the agent stands, without a plan.
SERVES_WELL = 0.95
#: A plan is made anew after so many steps, arrived or not.
PLAN_STEPS = 500
#: A reward that should have been seen HOPE · log(t + 2) times is given up, and looked for again, when there is nothing
#: better to do, until it should have been seen LAST_HOPE · log(t + 2) times.
HOPE = 2.0
LEAST_CHANCE = 0.01
LAST_HOPE = 8.0


class Explorer(NamedTuple):
    """Arrays of a DirectedModel that are not about the model itself.

    discovered [S], env_discovered [SE]; cut [SE]: how often the step limit struck just when a state was entered, and
    expected [1]: the state to act in next; slippery [SE]: whether a move has come out in more than one way there;
    hopeless [SE * AE]: rewards given up; reward_squares [SE * AE]: sums of squared deviations.
    counts: see the constants below. scales: lowest reward seen or told, highest, lowest monitor reward.
    planned_tries [rows]: tries when Q was planned last, stale [2]: whether Q must be planned before it is evaluated,
    and before it is acted on.
    """

    discovered: Booleans
    env_discovered: Booleans
    cut: Integers
    expected: Integers
    slippery: Booleans
    hopeless: Booleans
    missed: Floats
    reward_squares: Floats
    env_tries: Integers
    counts: Integers
    scales: Floats
    choices: Floats
    here: Integers
    nothing: Integers
    planned_tries: Integers
    stale: Integers


#: Places in `counts`: least number of visits, and known pairs with it; environment pairs never tried, and tried but
#: never seen; what the plan was made for (purpose, changes of the model, steps left); whether any reward was noisy; the
#: round of looking for unseen rewards.
LEVEL, AT_LEVEL, UNTRIED, UNSEEN, PURPOSE, CHANGES, LEFT, NOISY, ROUND = range(9)


class DirectedModelMemory(NamedTuple):
    """Q̂ [S, A], visits [S * A], R̂ and its counts [SE * AE], the model, the way to goals, the plan, and options."""

    q: Floats
    visits: Integers
    reward_model: Floats
    reward_counts: Integers
    model: FactoredModel
    way: Way
    explorer: Explorer
    plan: Plan
    beta_bar: float
    certain: float
    uncertain: float
    accuracy: float
    observes: bool
    discount: float


@inlined
def enter(memory, env_state):
    """An environment state that is seen for the first time has pairs to try."""
    explorer = memory.explorer
    if not explorer.env_discovered[env_state]:
        explorer.env_discovered[env_state] = True
        explorer.counts[UNTRIED] += memory.model.n_env_actions


@inlined
def discover(memory, state):
    """A state to act in for the first time is known from now on, and so are its pairs.

    States that are only ever entered when the step limit strikes never are, so that they are nobody's goal for long.
    """
    explorer, model = memory.explorer, memory.model
    if not explorer.discovered[state]:
        explorer.discovered[state] = True
        explorer.counts[AT_LEVEL] = model.n_actions + (explorer.counts[AT_LEVEL] if explorer.counts[LEVEL] == 0 else 0)
        explorer.counts[LEVEL] = 0
        model.changes[0] += 1
        explorer.cut[model.env_state[state]] = 0
    enter(memory, model.env_state[state])
    explorer.expected[0] = -1


@kernel
def is_inaccurate(seen, squares, wanted, log_time, most):
    """Whether a noisy reward's 95% interval is wider than wanted, and it was seen less than log(t + 2) / most times."""
    if seen == 0 or seen * most > log_time:
        return False
    return seen == 1 or 1.96 * math.sqrt(squares / (seen - 1) / seen) > wanted


@kernel
def may_be_random(model, slippery, row, env_state):
    """Whether a move came out in more than one way, or never led away where others did so by luck."""
    return outcomes_known(model, row) > 1 or (slippery[env_state] and stays(model, row, env_state))


@kernel
def serve(memory, purpose, states, step, serves):
    """g(s,a) of states [n], into serves [n, A]; returns the largest.

    1: try environment pairs and see rewards for the first time; 2: visit the least visited; 3: be sure.
    """
    model, counts, n_actions = memory.model, memory.explorer.counts, memory.model.n_actions
    visits, tries, seen = memory.visits, model.tries, memory.reward_counts
    hopeless, missed, squares = memory.explorer.hopeless, memory.explorer.missed, memory.explorer.reward_squares
    scales, level, noisy = memory.explorer.scales, counts[LEVEL], counts[NOISY] > 0
    discovered, cut, slippery = memory.explorer.discovered, memory.explorer.cut, memory.explorer.slippery
    log_time, best_chance, largest = math.log(step + 2.0), best_chance_shown(model), 0.0
    patience = min(2.0 ** counts[ROUND], HOPE * log_time)
    for i in range(len(states)):
        state = states[i]
        env_first = model.env_state[state] * model.n_env_actions
        for action in range(n_actions):
            pair, env_pair = state * n_actions + action, env_first + action // model.n_monitor_actions
            row = env_pair if model.pools_environment else pair
            service = 0.0
            if purpose == 1:
                if tries[row] == 0 and cut[model.env_state[state]] < HOPE * log_time:
                    service = 0.5 + 0.5 * chance_shown(model, state, action)
                elif memory.observes and tries[row] > 0 and seen[env_pair] == 0 and missed[env_pair] < patience:
                    service = chance_shown(model, state, action)
                    service = service if service >= 0.5 * best_chance else 0.0
            elif purpose == 2:
                service = 1.0 if visits[pair] <= level and discovered[state] else 0.0
            elif log_time > memory.certain * tries[row] or (
                log_time > memory.uncertain * tries[row] and may_be_random(model, slippery, row, model.env_state[state])
            ):
                service = SERVES_WELL
            elif (
                noisy
                and is_inaccurate(
                    seen[env_pair],
                    squares[env_pair],
                    memory.accuracy * (scales[1] - scales[0]),
                    log_time,
                    memory.uncertain,
                )
            ) or (hopeless[env_pair] and missed[env_pair] < LAST_HOPE * log_time):
                service = min(chance_shown(model, state, action), SERVES_WELL)
                service = service if service >= 0.5 * best_chance else 0.0
            serves[i, action] = service
            largest = max(largest, service)
    return largest


@kernel
def find_way(memory, purpose, origin, step):
    """Search layer by layer and plan; returns whether any goal can be reached."""
    way, model, counts = memory.way, memory.model, memory.explorer.counts
    begin_search(way, origin)
    start, depth, last = 0, 0, 1 << 60
    while start < way.told[0] and depth <= last:
        stop = way.told[0]
        states, bounds = way.states[start:stop], way.bounds[start * model.n_actions : stop * model.n_actions + 1]
        if serve(memory, purpose, states, step, way.serves[start:stop]) > 0.0 and way.told[2] == 0:
            way.told[2], last = 1, depth + BEYOND
        lay_out(model, states, bounds, way.chances, way.targets, way.ending[start:stop])
        if depth < last:
            go_on(way, model.n_actions, start, stop, depth + 1)
        start, depth = stop, depth + 1
    counts[PURPOSE], counts[CHANGES], counts[LEFT] = purpose, model.changes[0], PLAN_STEPS
    if way.told[2] == 0:
        return False
    settle(way, model.n_actions)
    sweep_way(way, model.n_actions)
    return True


@kernel
def follow(memory, purpose, state, draws):
    """An action on the way to the goals of a purpose, or -1 if there are none."""
    way, model, explorer, counts = memory.way, memory.model, memory.explorer, memory.explorer.counts
    step = draws.step
    explorer.here[0] = state
    choices = explorer.choices[0]
    if serve(memory, purpose, explorer.here, step, explorer.choices) >= SERVES_WELL:
        counts[LEFT] = 0
        return choose(choices, draws)
    if step < explorer.nothing[purpose, 0] and explorer.nothing[purpose, 1] == model.changes[0]:
        return -1
    current = counts[PURPOSE] == purpose and counts[CHANGES] == model.changes[0] and way.stamp[state] == way.told[1]
    if not (current and way.told[2] == 1 and counts[LEFT] > 0):
        found = find_way(memory, purpose, state, step)
        while not found and purpose == 1 and 2.0 ** counts[ROUND] < HOPE * math.log(step + 2.0):
            counts[ROUND] += 1
            found = find_way(memory, purpose, state, step)
        if not found:
            explorer.nothing[purpose, 0], explorer.nothing[purpose, 1] = step + step // 16 + 16, model.changes[0]
            return -1
    i = weigh(way, state, choices)
    action = choose(choices, draws)
    arrived = way.serves[i, action] >= SERVES_WELL or (purpose == 3 and way.serves[i, action] > 0.0)
    counts[LEFT] = 0 if arrived else counts[LEFT] - 1
    return action


@kernel
def act_directed_model(memory, state, draws):
    """Toward the nearest goal of the first purpose that has any; greedy on Q where none has."""
    counts = memory.explorer.counts
    discover(memory, state)
    for purpose in range(1, 4):
        due = True
        if purpose == 1:
            due = counts[UNTRIED] > 0 or counts[UNSEEN] > 0
        elif purpose == 2:
            due = counts[LEVEL] == 0 or math.log(draws.step + 2.0) > memory.beta_bar * counts[LEVEL]
        if due:
            action = follow(memory, purpose, state, draws)
            if action >= 0:
                return action, True
    if memory.explorer.stale[1]:
        plan_values(memory, memory.plan.q, memory.plan.values)
        memory.explorer.stale[1] = 0
    return choose(memory.plan.q[state], draws), False


@inlined
def beta_directed_model(memory, step):
    """log(t + 2) / N of the least visited known pair."""
    level = memory.explorer.counts[LEVEL]
    return math.log(step + 2.0) / level if level > 0 else math.inf


@inlined
def begin_directed_model(memory, state, step):
    """Remember where episodes begin, and where the step limit struck before the agent could act."""
    expected = memory.explorer.expected[0]
    if expected >= 0:
        memory.explorer.cut[memory.model.env_state[expected]] += 1
        memory.model.changes[0] += 1
    memory.explorer.expected[0] = -1
    memory.model.changes[0] += note_start(memory.way, state)


@inlined
def count_visit(memory, pair):
    """Keep the least number of visits of any known pair; looked up anew when no pair is left with it."""
    discovered, counts, visits = memory.explorer.discovered, memory.explorer.counts, memory.visits
    if visits[pair] - 1 == counts[LEVEL]:
        counts[AT_LEVEL] -= 1
    if counts[AT_LEVEL] > 0:
        return
    n_actions = memory.q.shape[1]
    counts[LEVEL] = visits[pair]
    for other in range(len(visits)):
        if discovered[other // n_actions]:
            if visits[other] < counts[LEVEL]:
                counts[LEVEL], counts[AT_LEVEL] = visits[other], 0
            counts[AT_LEVEL] += visits[other] == counts[LEVEL]


@inlined
def learn_seen_reward(memory, env_pair, reward):
    """R̂ as a running mean, and its squared deviations."""
    explorer, scales = memory.explorer, memory.explorer.scales
    if memory.reward_counts[env_pair] == 0:
        explorer.counts[UNSEEN] -= not explorer.hopeless[env_pair]
        explorer.hopeless[env_pair] = False
        memory.model.changes[0] += 1
        memory.reward_model[env_pair] = 0.0
    memory.reward_counts[env_pair] += 1
    error = reward - memory.reward_model[env_pair]
    memory.reward_model[env_pair] += error / memory.reward_counts[env_pair]
    explorer.reward_squares[env_pair] += error * (reward - memory.reward_model[env_pair])
    if explorer.reward_squares[env_pair] > 1e-12:
        explorer.counts[NOISY] = 1
    scales[0], scales[1] = min(scales[0], reward), max(scales[1], reward)


@inlined
def miss_reward(memory, env_pair, chance, log_time):
    """A reward that was never seen could have been seen now: this round, or for good, that may be enough."""
    explorer, missed = memory.explorer, memory.explorer.missed
    before = missed[env_pair]
    missed[env_pair] += chance
    patience = 2.0 ** explorer.counts[ROUND]
    memory.model.changes[0] += before < patience <= missed[env_pair]
    hopeless = missed[env_pair] >= HOPE * log_time
    if hopeless != explorer.hopeless[env_pair]:
        explorer.hopeless[env_pair] = hopeless
        explorer.counts[UNSEEN] += -1 if hopeless else 1
        memory.model.changes[0] += 1


@kernel
def update_directed_model(memory, transition):
    """Count everything, and see whether a reward must be given up."""
    step, state, action, env_pair = transition.step, transition.state, transition.action, transition.env_pair
    next_state, terminated = transition.next_state, transition.terminated
    proxy_reward, monitor_reward = transition.proxy_reward, transition.monitor_reward
    model, explorer = memory.model, memory.explorer
    row, shown = row_of(model, state, action), not math.isnan(proxy_reward)
    count_visit(memory, state * model.n_actions + action)
    if explorer.env_tries[env_pair] == 0:
        explorer.counts[UNTRIED] -= 1
        explorer.counts[UNSEEN] += 1
    explorer.env_tries[env_pair] += 1
    news = model.changes[0]
    learn_model(model, state, action, next_state, terminated, shown, monitor_reward)
    if model.changes[0] > news and model.tries[row] > 1 and not explorer.slippery[model.env_state[state]]:
        explorer.slippery[model.env_state[state]] = outcomes_known(model, row) > 1
    explorer.scales[2] = min(explorer.scales[2], monitor_reward)
    explorer.expected[0] = -1
    if not terminated:
        enter(memory, model.env_state[next_state])
        explorer.expected[0] = next_state
    if shown:
        learn_seen_reward(memory, env_pair, proxy_reward)
    elif memory.reward_counts[env_pair] == 0:
        miss_reward(memory, env_pair, max(chance_shown(model, state, action), LEAST_CHANCE), math.log(step + 2.0))
    explorer.stale[0] = 1
    if model.tries[row] >= 2 * explorer.planned_tries[row]:
        explorer.planned_tries[row] = model.tries[row]
        explorer.stale[1] = 1


@inlined
def plan_directed_model(memory, step):
    """Q is ready to be evaluated."""
    if memory.explorer.stale[0]:
        memory.plan.test_values[:] = memory.plan.values
        plan_values(memory, memory.q, memory.plan.test_values)
        memory.explorer.stale[0] = 0


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class DirectedModel(Agent):
    """Plans its way to what is least known, on a model that keeps environment and monitor apart.

    beta_bar: visit the least visited pair while log(t + 2) / N is above it.
    beta_certain, beta_uncertain: try environment pairs while log(t + 2) / N is above them, pairs that have come out
    in more than one way by the latter; large numbers switch it off.
    accuracy: see noisy rewards again until the 95% interval of their mean is this narrow, as a part of the range of
    all rewards; 1 switches it off.
    observe: look for rewards that were never seen; False leaves it to chance.
    minimum_reward: stands in for a reward never seen; by default as for MonitoredMBIE.
    pessimism: False takes 0 for a reward never seen instead.
    pool_environment: count the environment's moves over all monitor states and actions together.
    pool_monitor: count the monitor's moves over all environment pairs together, as far as they look alike.
    known_monitor: the monitor is given, and only the environment is estimated.
    """

    beta_bar: float = 10.0
    beta_certain: float = 0.5
    beta_uncertain: float = 0.1
    accuracy: float = 0.05
    observe: bool = True
    minimum_reward: float | None = None
    pessimism: bool = True
    pool_environment: bool = True
    pool_monitor: bool = True
    known_monitor: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("beta_bar", "beta_certain", "beta_uncertain", "accuracy"):
            check.at_least(getattr(self, name), 0.0, f"The option {name}")
        if self.known_monitor and not self.pool_environment:
            raise MonMDPError(
                "With a known monitor the environment is always pooled, so pool_environment must be True."
            )

    act = act_directed_model
    update = update_directed_model
    beta = beta_directed_model
    begin = begin_directed_model
    plan = plan_directed_model

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"minimum_reward": bounds.minimum_reward}

    def memory(self, world: World, steps: int, seed: int) -> Any:
        n, m = world.n_states, world.n_actions
        model = new_factored_model(world, steps, self.pool_environment, self.pool_monitor, self.known_monitor)
        if self.minimum_reward is None:
            raise MonMDPError("DirectedModel needs minimum_reward, or in live training a reward_range.")
        lowest = float(self.minimum_reward) if self.pessimism else 0.0
        room = self._successors(world, steps)
        return DirectedModelMemory(
            q=np.zeros((n, m)),
            visits=np.zeros(n * m, np.int64),
            reward_model=np.full(world.n_env_pairs, lowest),
            reward_counts=np.zeros(world.n_env_pairs, np.int64),
            model=model,
            way=new_way(n, m, room),
            explorer=Explorer(
                discovered=np.zeros(n, np.bool_),
                env_discovered=np.zeros(world.n_env_states, np.bool_),
                cut=np.zeros(world.n_env_states, np.int64),
                expected=np.full(1, -1, np.int64),
                slippery=np.zeros(world.n_env_states, np.bool_),
                hopeless=np.zeros(world.n_env_pairs, np.bool_),
                missed=np.zeros(world.n_env_pairs),
                reward_squares=np.zeros(world.n_env_pairs),
                env_tries=np.zeros(world.n_env_pairs, np.int64),
                counts=np.zeros(9, np.int64),
                scales=np.array([lowest, 0.0, 0.0]),
                choices=np.zeros((1, m)),
                here=np.zeros(1, np.int64),
                nothing=np.zeros((4, 2), np.int64),
                planned_tries=np.zeros(len(model.tries), np.int64),
                stale=np.ones(2, np.int64),
            ),
            plan=new_plan(n, m, room),
            beta_bar=float(self.beta_bar),
            certain=float(self.beta_certain),
            uncertain=float(self.beta_uncertain),
            accuracy=float(self.accuracy),
            observes=self.observe,
            discount=world.discount,
        )

    def remarks(self, memory: Any) -> list[tuple[int, str]]:
        """Environment pairs whose reward was given up, and why."""
        explorer = memory.explorer
        return [
            (int(pair), f"given up: should have been seen {explorer.missed[pair]:.1f} times, and never was")
            for pair in np.flatnonzero(explorer.hopeless)
        ]

    def _successors(self, world: World, steps: int) -> int:
        """How many successors there may be to lay out."""
        if self.known_monitor:
            return len(world.probability)
        moves = min(steps, transitions_of(world, self.pool_environment))
        contexts = world.n_monitor_states * world.n_monitor_actions
        return moves * world.n_monitor_states * (contexts if self.pool_environment else 1)

    def memory_bytes(self, world: World, steps: int) -> int:
        """Tables over pairs, all successors twice, and the rows of a known monitor."""
        pairs = world.n_states * world.n_actions
        known = 48 * len(world.probability) if self.known_monitor else 0
        tables = 8 * pairs * (17 + world.n_monitor_states)
        return tables + 32 * self._successors(world, steps) + known

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Searches while acting, and all values for an evaluation."""
        pairs = world.n_states * world.n_actions
        return 8e-6 + 8e-9 * pairs, 5e-5 + 3e-7 * pairs
