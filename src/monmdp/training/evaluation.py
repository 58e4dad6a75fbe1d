"""The return of the greedy policy: exact, from the model, or sampled, as in the paper."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import uniform
from monmdp.kernels.returns import NEGLIGIBLE, Evaluator, exact_return, new_evaluator
from monmdp.kernels.stepping import draw_outcome, draw_start

__all__ = ["Evaluator", "choose_best", "exact_return", "new_evaluator", "sampled_return"]


@kernel
def choose_best(values, key, index):
    """The index of the largest of values [A]; draw number `index` of the stream breaks exact ties."""
    best, count = values[0], 1
    choice = 0
    for action in range(1, len(values)):
        if values[action] > best:
            best, count, choice = values[action], 1, action
        elif values[action] == best:
            count += 1
    if count > 1:
        rank = int(uniform(key, index) * count)
        for action in range(choice, len(values)):
            if values[action] == best:
                if rank == 0:
                    return action
                rank -= 1
    return choice


@inlined
def sampled_return(world, q, episodes, key, clock):
    """Mean discounted return of greedy test episodes, without reward noise (mean zero). clock [1] counts draws."""
    total = 0.0
    for _ in range(episodes):
        state = draw_start(world.start_states, world.start_cumulative, key, clock[0])
        clock[0] += 1
        weight, step = 1.0, 0
        while (world.step_limit == 0 or step < world.step_limit) and weight > NEGLIGIBLE:
            action = choose_best(q[state], key, clock[0])
            outcome = draw_outcome(world, state * world.n_actions + action, key, clock[0] + 1)
            clock[0] += 2
            total += weight * (world.env_reward[outcome] + world.monitor_reward[outcome])
            weight *= world.discount
            step += 1
            if world.terminated[outcome]:
                break
            state = world.next_state[outcome]
    return total / episodes
