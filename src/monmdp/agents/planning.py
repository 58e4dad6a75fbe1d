"""Planning on rows of a learned model: values of all known states, and the search for goals around the agent.

Values, by modified policy iteration:  Q(s,a) = r(s,a) + γ Σ P̂(s′|s,a) max Q(s′,·)
Goals:  W(s) = max_a κ(s,a) [g(s,a) + (1 − g(s,a)) γ_W Σ P̂(s′|s,a) W(s′)]

g(s,a) is the probability that a pair reaches a goal, and κ(s,a) ≤ 1 is what is left of it after its price. The search
follows known transitions from the agent's state, ends of episodes lead to known start states, and it stops soon after
it has found goals; W is solved for the states found only. So a plan costs as much as the agent's surroundings, and
memory is linear in what is known.
"""

from typing import Any

import numpy as np

from monmdp.agents.arrays import Rows, array_tuple
from monmdp.kernels.bellman import backup
from monmdp.kernels.compile import inlined

#: Relative accuracy of Q, and the largest numbers of policy improvements and of sweeps between two of them.
VALUE_ACCURACY = 1e-7
IMPROVEMENTS = 1000
POLICY_SWEEPS = 50
#: γ_W: the discount per step on the path to a goal.
GOAL_DISCOUNT = 0.9
#: The search continues for this number of steps beyond the nearest goal, since a longer path may be more reliable.
EXTRA_DEPTH = 1
#: W is swept until its value at the agent's state can change by no more than this fraction, or this number of times.
GOAL_ACCURACY = 0.02
GOAL_SWEEPS = 40

GoalPlan: Any = array_tuple(
    __name__,
    "GoalPlan",
    """A plan for the states that a search has found; the i-th of them is states[i], and its place is i.

    In `values` and in the rows, S is the end of an episode. S + 1 has no value and replaces a state in its own rows.
    """,
    states="int states",
    rows=Rows,
    place="int states",  # of a state, -1 if it was not found
    decay="float states",  # [place], γ_W to the power of the distance
    success="float states actions",  # [place, action], g
    kept="float states actions",  # [place, action], κ
    stay="float states actions",  # [place, action], probability to stay in the same state
    values="float values",  # W, 0 for states that were not found
    starts="int states",  # states in which episodes began, in order of first occurrence
    start_counts="int states",
    status={
        "size": "int",  # number of states found
        "n_starts": "int",
        "episodes": "int",
        "purpose": "int",
        "changes": "int",  # those of the model when the plan was made
        "steps_left": "int",  # until the plan is made again; 0 without goals
    },
)


@inlined
def plan_values(states, rows, rewards, lowest, discount, q, values):
    """Improve q [S, A] and values [S + 2] of some states, by rewards of their rows; pairs without a row get `lowest`.

    The greedy action of the i-th state is best[i], -1 if no action is known.
    """
    size, n_actions, best = len(states), q.shape[1], np.empty_like(states)
    offsets, weight, next_state = rows.offsets, rows.weight, rows.next_state
    for _ in range(IMPROVEMENTS):
        for i in range(size):
            best[i] = -1
            for action in range(n_actions):
                row, value = i * n_actions + action, lowest
                if offsets[row + 1] > offsets[row]:
                    value = rewards[row] + discount * backup(offsets, weight, next_state, values, row)
                    if best[i] < 0 or value > q[states[i], best[i]]:
                        best[i] = action
                q[states[i], action] = value
        change, largest = 0.0, 1.0
        for i in range(size):
            value = q[states[i], best[i]] if best[i] >= 0 else lowest
            change = max(change, abs(value - values[states[i]]))
            largest = max(largest, abs(value))
            values[states[i]] = value
        negligible = VALUE_ACCURACY * largest * (1.0 - discount)
        if change * discount <= negligible:
            break
        for _ in range(POLICY_SWEEPS):
            change = 0.0
            for i in range(size):
                if best[i] >= 0:
                    row = i * n_actions + best[i]
                    value = rewards[row] + discount * backup(offsets, weight, next_state, values, row)
                    change = max(change, abs(value - values[states[i]]))
                    values[states[i]] = value
            if change * discount <= negligible:
                break


@inlined
def add_state(plan, state, decay):
    """Add a state to a plan, unless it is there."""
    status = plan.status[0]
    if plan.place[state] < 0:
        plan.place[state] = status.size
        plan.states[status.size] = state
        plan.decay[status.size] = decay
        status.size += 1


@inlined
def add_successors(plan, start, stop, decay):
    """Add the successors of the states at places start … stop - 1; the end of an episode leads to the start states."""
    offsets, weight, next_state = plan.rows.offsets, plan.rows.weight, plan.rows.next_state
    (n_states, n_actions), can_end = plan.success.shape, False
    for entry in range(offsets[start * n_actions], offsets[stop * n_actions]):
        if next_state[entry] < n_states:
            add_state(plan, next_state[entry], decay)
        elif weight[entry] > 0.0:
            can_end = True
    if can_end:
        for i in range(plan.status[0].n_starts):
            add_state(plan, plan.starts[i], decay)


@inlined
def move_stays(plan):
    """Move the probabilities of staying in the same state from the rows to `stay`."""
    offsets, weight, next_state = plan.rows.offsets, plan.rows.weight, plan.rows.next_state
    n_states, n_actions = plan.success.shape
    for row in range(plan.status[0].size * n_actions):
        i, action = row // n_actions, row % n_actions
        plan.stay[i, action] = 0.0
        for entry in range(offsets[row], offsets[row + 1]):
            if next_state[entry] == plan.states[i]:
                plan.stay[i, action] += weight[entry]
                next_state[entry] = n_states + 1


@inlined
def goal_value(plan, i, action):
    """κ [g + (1 − g) γ_W (ahead + stay · W)] of the i-th state, solved for W; ahead is Σ P̂ W of other states."""
    success, kept = plan.success[i, action], plan.kept[i, action]
    if success >= 1.0:
        return kept * success
    offsets, weight, next_state = plan.rows.offsets, plan.rows.weight, plan.rows.next_state
    ahead = backup(offsets, weight, next_state, plan.values, i * plan.success.shape[1] + action)
    discount, stay = kept * (1.0 - success) * GOAL_DISCOUNT, plan.stay[i, action]
    value = kept * success + discount * ahead
    return value / (1.0 - discount * stay) if stay > 0.0 else value


@inlined
def solve_goals(plan):
    """Sweep W backwards from the states found last, which are the farthest, as far as it matters at the origin.

    The value of a state counts there at most by γ_W to the power of its distance.
    """
    move_stays(plan)
    values, states, decay, status = plan.values, plan.states, plan.decay, plan.status[0]
    n_states, n_actions = plan.success.shape
    values[n_states] = 0.0
    for _ in range(GOAL_SWEEPS):
        change = 0.0
        for i in range(status.size - 1, -1, -1):
            best = 0.0
            for action in range(n_actions):
                best = max(best, goal_value(plan, i, action))
            if decay[i] * best > values[states[0]]:
                change = max(change, decay[i] * (best - values[states[i]]))
            values[states[i]] = best
        restart = 0.0
        for i in range(status.n_starts):
            restart += plan.start_counts[plan.starts[i]] * values[plan.starts[i]]
        values[n_states] = restart / max(status.episodes, 1)
        if change <= GOAL_ACCURACY * values[states[0]]:
            break
