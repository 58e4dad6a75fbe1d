"""The return of the greedy policy: exact, from the model, or sampled, as in the paper."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from monmdp.agents.choices import choose_best
from monmdp.kernels.compile import inlined
from monmdp.kernels.returns import NEGLIGIBLE, Evaluator, exact_return, new_evaluator
from monmdp.kernels.stepping import draw_outcome, draw_start

__all__ = ["Evaluator", "exact_return", "new_evaluator", "sampled_return"]


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
