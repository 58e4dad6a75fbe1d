"""DirectedModel: directed exploration on a factored model, with plans in place of successor functions.

The agent goes toward the goals of its purposes (`monmdp.agents.goals`) as long as there are any.
Without goals, it is greedy on Q(s,a) = R̂ + r̂M + γ Σ P̂(s′|s,a) max Q(s′,·), where R̂ is the minimum reward if no reward
was observed.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents import factored_model, outcome_rewards, planning
from monmdp.agents.arrays import Rows, array_tuple, world_sizes, zeros
from monmdp.agents.base import AGENTS, Agent, Transition
from monmdp.agents.choices import choose, largest
from monmdp.agents.goals import (
    DISCOVER,
    GIVE_UP_FACTOR,
    LEAST_CHANCE,
    N_PURPOSES,
    VISIT,
    follow,
    given_up_remark,
    price,
)
from monmdp.check import Count, NonNegative, Probability
from monmdp.errors import MonMDPError
from monmdp.exact.structure import Bounds
from monmdp.kernels.compile import inlined, internal, kernel
from monmdp.world import World

DirectedModelMemory: Any = array_tuple(
    __name__,
    "DirectedModelMemory",
    """Q̂ for evaluation, R̂ and its counts, the model, plans, what exploration has to know, and options.

    The agent acts on value_q, which is not planned anew for an evaluation, so that evaluation changes nothing.
    """,
    q="float states actions",
    visits="int pairs",
    reward_model="float env_pairs",
    reward_counts="int env_pairs",
    rewards=outcome_rewards.OutcomeRewards,
    relied="int env_pairs",  # how often the agent took the pair to exploit what it knows
    missed="float env_pairs",  # how often a reward was expected to be observed, while it never was
    given_up="bool env_pairs",  # rewards
    model=factored_model.FactoredModel,
    goal_plan=planning.GoalPlan,
    value_rows=Rows,
    value_q="float states actions",
    values="float values",  # maxima of value_q, and 0 after the end of an episode
    known_states="int states",  # scratch space of planning, as are the next two
    row_rewards="float pairs",
    evaluated_values="float values",
    planned_tries="int groups",  # tries when values were last planned
    discovered="bool states",  # states the agent has acted in
    env_discovered="bool env_states",
    random="bool env_states",  # whether a pair of the state has had different outcomes
    cut="int env_states",  # how often the step limit ended an episode just when the state was entered
    status={
        "level": "int",  # least number of visits of any known pair
        "at_level": "int",  # number of known pairs with it
        "untried": "int",  # environment pairs never tried
        "unseen": "int",  # environment pairs tried whose reward was never observed and is not given up
        "round": "int",  # rewards are looked for until they were missed 2^round times
        "expected_state": "int",  # the state to act in next, -1 for none
        "lowest_reward": "float",
        "lowest_monitor_reward": "float",
        "plan_outdated": "bool",  # the values that the agent acts on
        "idle_until": "int 4",  # by purpose: the step until which there are no goals, if the model does not change
        "idle_changes": "int 4",  # changes of the model at that time
    },
    beta_bar=float,
    beta_certain=float,
    beta_uncertain=float,
    accuracy=float,
    cost_weight=float,
    answers=float,
    observe=bool,
    reward_per_outcome=bool,
    lowest=float,  # what stands for a reward never observed
    discount=float,
)


@inlined
def enter(memory, env_state):
    """Count the pairs of an environment state that is entered for the first time."""
    if not memory.env_discovered[env_state]:
        memory.env_discovered[env_state] = True
        memory.status[0].untried += len(memory.reward_counts) // len(memory.env_discovered)


@inlined
def discover(memory, state):
    """Count the pairs of a state in which the agent acts for the first time.

    States that are entered only when the step limit ends an episode are never discovered, so they are no lasting goals.
    """
    model, status = memory.model, memory.status[0]
    if not memory.discovered[state]:
        memory.discovered[state] = True
        status.at_level = model.n_actions + (status.at_level if status.level == 0 else 0)
        status.level = 0
        model.changes[0] += 1
        memory.cut[model.env_state[state]] = 0
    enter(memory, model.env_state[state])
    status.expected_state = -1


@inlined
def choose_cheapest(memory, state, draws):
    """A greedy action, among equally good ones one with the lowest price."""
    model, q = memory.model, memory.value_q[state]
    best = largest(q)
    values, equal = np.empty(model.n_actions), planning.VALUE_ACCURACY * max(abs(best), 1.0)
    for action in range(model.n_actions):
        is_best = q[action] >= best - equal
        values[action] = -price(memory, state * model.n_actions + action) if is_best else -math.inf
    return choose(values, draws)


@kernel
def act_directed_model(memory, state, draws):
    """Toward the nearest goal of the first purpose that has any; greedy on Q if none has."""
    discover(memory, state)
    status = memory.status[0]
    for purpose in range(N_PURPOSES):
        is_due = True
        if purpose == DISCOVER:
            is_due = status.untried > 0 or status.unseen > 0
        elif purpose == VISIT:
            is_due = status.level == 0 or math.log(draws.step + 2.0) > memory.beta_bar * status.level
        if is_due:
            action = follow(memory, purpose, state, draws)
            if action >= 0:
                return action, True
    if status.plan_outdated:
        plan_all_values(memory, memory.value_q, memory.values)
        status.plan_outdated = False
    action = choose_cheapest(memory, state, draws)
    memory.relied[memory.model.env_pair[state * memory.model.n_actions + action]] += 1
    return action, False


@inlined
def beta_directed_model(memory, step):
    """log(t + 2) / N of the least visited known pair."""
    level = memory.status[0].level
    return math.log(step + 2.0) / level if level > 0 else math.inf


@inlined
def begin_directed_model(memory, state, step):
    """Count where episodes begin, and where the step limit ended one before the agent could act."""
    model, status, plan = memory.model, memory.status[0], memory.goal_plan
    if status.expected_state >= 0:
        memory.cut[model.env_state[status.expected_state]] += 1
        model.changes[0] += 1
    status.expected_state = -1
    if plan.start_counts[state] == 0:
        plan.starts[plan.status[0].n_starts] = state
        plan.status[0].n_starts += 1
        model.changes[0] += 1
    plan.start_counts[state] += 1
    plan.status[0].episodes += 1


@inlined
def count_visit(memory, pair):
    """Update the least number of visits of any known pair; search for it when no pair is left at that level."""
    status, visits, n_actions = memory.status[0], memory.visits, memory.q.shape[1]
    if visits[pair] - 1 == status.level:
        status.at_level -= 1
    if status.at_level > 0:
        return
    status.level = visits[pair]
    for other in range(len(visits)):
        if memory.discovered[other // n_actions]:
            if visits[other] < status.level:
                status.level, status.at_level = visits[other], 0
            status.at_level += visits[other] == status.level


@inlined
def learn_observed_reward(memory, env_pair, outcome, reward):
    """Update the reward of an outcome."""
    status, rewards = memory.status[0], memory.rewards
    status.unseen -= rewards.unseen[env_pair] > 0 and not memory.given_up[env_pair]
    rewards.status[0].seen_pairs += memory.reward_counts[env_pair] == 0
    if rewards.seen[outcome] == 0:
        memory.model.changes[0] += 1
        status.plan_outdated = True
    memory.reward_counts[env_pair] += 1
    memory.missed[env_pair] = 0.0
    memory.given_up[env_pair] = False
    outcome_rewards.observe(rewards, env_pair, outcome, reward)
    status.unseen += rewards.unseen[env_pair] > 0
    status.lowest_reward = min(status.lowest_reward, reward)


@inlined
def miss_reward(memory, env_pair, chance, log_time):
    """Count that a reward could have been observed but never was, and give it up after enough of these."""
    status, missed = memory.status[0], memory.missed
    before = missed[env_pair]
    missed[env_pair] += chance
    memory.model.changes[0] += before < 2.0**status.round <= missed[env_pair]
    given_up = missed[env_pair] >= GIVE_UP_FACTOR * log_time
    if given_up != memory.given_up[env_pair]:
        memory.given_up[env_pair] = given_up
        status.unseen += -1 if given_up else 1
        memory.model.changes[0] += 1


@inlined
def outcome_of(memory, transition, is_clear):
    """What the reward of a transition may depend on: the next environment state, and the environment's own end."""
    own_end = transition.terminated and is_clear
    return 2 * memory.model.env_state[transition.next_state] + own_end if memory.reward_per_outcome else 0


@kernel
def update_directed_model(memory, transition):
    """Count the transition, and give up its reward if necessary."""
    model, status = memory.model, memory.status[0]
    env_pair, env_state = np.int64(transition.env_pair), model.env_state[transition.state]
    pair = transition.state * model.n_actions + transition.action
    group, monitor_pair, changes = model.ends.group[pair], model.shifts.group[pair], model.changes[0]
    count_visit(memory, pair)
    factored_model.learn_model(model, transition, memory.given_up[env_pair])
    if model.env_tries[env_pair] == 1:
        status.untried -= 1
    if model.changes[0] > changes and model.tries[group] > 1 and not memory.random[env_state]:
        memory.random[env_state] = factored_model.may_be_random(model, group, env_state, memory.random[env_state])
    status.lowest_monitor_reward = min(status.lowest_monitor_reward, transition.monitor_reward)
    status.expected_state = -1
    if not transition.terminated:
        enter(memory, model.env_state[transition.next_state])
        status.expected_state = transition.next_state
    is_clear, unseen = not transition.terminated or model.continued[monitor_pair], memory.rewards.unseen[env_pair]
    outcome, is_clear = outcome_of(memory, transition, is_clear), is_clear or not memory.reward_per_outcome
    outcome = outcome_rewards.count_outcome(memory.rewards, env_pair, outcome, is_clear)
    status.unseen += unseen == 0 and memory.rewards.unseen[env_pair] == 1
    is_shown, first = not math.isnan(transition.proxy_reward), memory.rewards.found.first[env_pair]
    if is_shown:
        learn_observed_reward(memory, env_pair, outcome, transition.proxy_reward)
    elif memory.rewards.seen[outcome] == 0:
        chance = max(factored_model.observe_chance(model, pair), LEAST_CHANCE)
        miss_reward(memory, env_pair, chance, math.log(transition.step + 2.0))
    if memory.reward_counts[env_pair] > 0 and (is_shown or memory.rewards.found.following[first] >= 0):
        memory.reward_model[env_pair] = outcome_rewards.expected_reward(
            memory.rewards, env_pair, memory.lowest, memory.accuracy
        )
    if model.tries[group] >= 2 * memory.planned_tries[group]:
        memory.planned_tries[group] = model.tries[group]
        status.plan_outdated = True


@kernel
def answer_directed_model(memory, transition):
    """Learn the reward of an earlier transition, and that it was observed, without counting the step again."""
    model, rewards, env_pair = memory.model, memory.rewards, np.int64(transition.env_pair)
    monitor_pair = model.shifts.group[transition.state * model.n_actions + transition.action]
    model.monitor_observed[monitor_pair] += 1
    model.monitor_asked[monitor_pair] = max(model.monitor_asked[monitor_pair], model.monitor_observed[monitor_pair])
    outcome = outcome_of(memory, transition, model.continued[monitor_pair])
    outcome = outcome_rewards.find_outcome(rewards, env_pair, outcome)
    learn_observed_reward(memory, env_pair, outcome, transition.proxy_reward)
    memory.reward_model[env_pair] = outcome_rewards.expected_reward(rewards, env_pair, memory.lowest, memory.accuracy)


@internal
def plan_all_values(memory, q, values):
    """Plan q [S, A] and values [S + 2] of all states; those of unknown environment states are as low as possible."""
    model, rows, status, n_actions = memory.model, memory.value_rows, memory.status[0], memory.q.shape[1]
    lowest = (status.lowest_reward + min(status.lowest_monitor_reward, 0.0)) / (1.0 - memory.discount)
    states, rewards, size = memory.known_states, memory.row_rewards, 0
    for state in range(len(states)):
        if memory.env_discovered[model.env_state[state]]:
            states[size] = state
            size += 1
        else:
            values[state] = lowest
            for action in range(n_actions):
                q[state, action] = lowest
    factored_model.write_model(model, states, rows, np.int64(0), np.int64(size))
    for row in range(size * n_actions):
        if rows.offsets[row + 1] > rows.offsets[row]:
            pair = states[row // n_actions] * n_actions + row % n_actions
            rewards[row] = memory.reward_model[model.env_pair[pair]] + factored_model.predicted_reward(model, pair)
    planning.plan_values(states[:size], rows, rewards, lowest, memory.discount, q, values)


@inlined
def plan_directed_model(memory, step):
    """Plan q for evaluation, starting from the values that the agent acts on."""
    for state in range(len(memory.values)):
        memory.evaluated_values[state] = memory.values[state]
    plan_all_values(memory, memory.q, memory.evaluated_values)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class DirectedModel(Agent):
    """Plans paths to what is least known, on a model that keeps environment and monitor apart.

    beta_bar: visit the least visited pair while log(t + 2) / N is above it.
    beta_certain, beta_uncertain: try environment pairs while log(t + 2) / N is above them; the latter is for pairs
    with different outcomes. Large numbers switch this off.
    accuracy: observe noisy rewards until the 95% interval of their mean is this narrow, as a fraction of the range of
    all rewards, and rewards of outcomes that are not rarer than it; 1 switches this off.
    cost_weight: a step at the highest monitor cost seen so far counts like this number of further steps on the way to
    a goal. 0 ignores costs, and then every joint pair is visited for its own sake.
    answers: at most this number of observed rewards is looked for; the agent first tries all environment pairs, then
    observes rewards that it never observed, and only then others again. None is no limit.
    observe: look for rewards never observed; False leaves it to chance.
    reward_per_outcome: learn a reward for every next state of an environment pair; False learns one for the pair, so
    that rewards which depend on where a random step ends count as noise.
    minimum_reward: used for rewards never observed; by default as for MonitoredMBIE.
    pessimism: False uses 0 for rewards never observed instead.
    pool_environment: count the environment's transitions over all monitor states and actions together.
    pool_monitor: count the monitor's transitions over all environment pairs together, as far as they are alike.
    known_monitor: the monitor is given, and only the environment is estimated.
    """

    beta_bar: NonNegative = 10.0
    beta_certain: NonNegative = 0.5
    beta_uncertain: NonNegative = 0.1
    accuracy: Probability = 0.05
    cost_weight: NonNegative = 1.0
    answers: Count | None = None
    observe: bool = True
    reward_per_outcome: bool = True
    minimum_reward: float | None = None
    pessimism: bool = True
    pool_environment: bool = True
    pool_monitor: bool = True
    known_monitor: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.known_monitor and not self.pool_environment:
            raise MonMDPError(
                "With a known monitor the environment is always pooled, so pool_environment must be True."
            )

    revision = 2
    act = act_directed_model
    update = update_directed_model
    beta = beta_directed_model
    begin = begin_directed_model
    plan = plan_directed_model

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"minimum_reward": bounds.minimum_reward}

    def memory(self, world: World, steps: int, seed: int) -> Any:
        if self.minimum_reward is None:
            raise MonMDPError("DirectedModel needs minimum_reward, or in live training a reward_range.")
        lowest = float(self.minimum_reward) if self.pessimism else 0.0
        model = factored_model.new_factored_model(world, steps, self)
        n_successors = self._n_successors(world, steps)
        sizes = {**world_sizes(world, n_successors), "values": world.n_states + 2, "groups": len(model.tries)}
        rewards = np.full(world.n_env_pairs, lowest)
        memory = zeros(
            DirectedModelMemory,
            sizes,
            self,
            world,
            reward_model=rewards,
            model=model,
            rewards=outcome_rewards.new_outcome_rewards(world, steps),
            lowest=lowest,
            answers=math.inf if self.answers is None else float(self.answers),
        )
        memory.goal_plan.place[:] = -1
        memory.status["lowest_reward"], memory.status["expected_state"] = lowest, -1
        return memory

    def answered(self, memory: Any, transition: Transition) -> None:
        """Add the reward to what was observed of its outcome."""
        answer_directed_model(memory, transition)

    def remarks(self, memory: Any) -> list[tuple[int, str]]:
        """Environment pairs whose reward was given up, and why."""
        return [(int(pair), given_up_remark(memory.missed[pair])) for pair in np.flatnonzero(memory.given_up)]

    def _n_successors(self, world: World, steps: int) -> int:
        """The largest number of successors in the rows of all pairs, ends of episodes included."""
        if self.known_monitor:
            return len(world.probability) + world.n_states * world.n_actions
        transitions = min(steps, factored_model.most_transitions(world, self.pool_environment))
        monitor_pairs = world.n_monitor_states * world.n_monitor_actions
        n_alike = monitor_pairs if self.pool_environment else 1
        return transitions * world.n_monitor_states * n_alike + world.n_states * world.n_actions

    def memory_bytes(self, world: World, steps: int) -> int:
        """Tables over pairs, all successors twice, and the rows of a known monitor."""
        pairs = world.n_states * world.n_actions
        known = 48 * len(world.probability) if self.known_monitor else 0
        tables = 8 * pairs * (22 + world.n_monitor_states) + 56 * outcome_rewards.most_outcomes(world, steps)
        return tables + 32 * self._n_successors(world, steps) + known

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Searches while acting, and all values for an evaluation."""
        pairs = world.n_states * world.n_actions
        return 4e-7 + 1.2e-9 * pairs, 1e-5 + 6e-8 * pairs
