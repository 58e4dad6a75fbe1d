"""Outcomes of an action in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from monmdp.errors import MonMDPError
from monmdp.problem import MonMDP


def explain(problem: MonMDP, state: Any, action: Any) -> str:
    """What can happen when `action` is taken in `state`, most likely outcome first."""
    s = _index(state, problem.n_states, problem.state_index, problem.environment.states, "state")
    a = _index(action, problem.n_actions, problem.action_index, problem.environment.actions, "action")
    lines = [f"In {problem.state_label(s)} of {problem.name}, taking {problem.action_label(a)}:"]
    if not problem.reachable[s]:
        lines.append("  (the agent can never be in this state)")
    pair = s * problem.n_actions + a
    outcomes = range(problem.offsets[pair], problem.offsets[pair + 1])
    for o in sorted(outcomes, key=lambda outcome: -problem.probability[outcome]):
        lines.append("  " + _sentence(problem, s, o))
    return "\n".join(lines)


def _index(given: Any, size: int, lookup: Any, labels: Sequence[Hashable], what: str) -> int:
    """An index itself, a label, or an (environment, monitor) pair of labels."""
    given = _without_numpy(given)
    if isinstance(given, int) and not isinstance(given, bool):
        if 0 <= given < size:
            return given
        raise MonMDPError(f"The {what} index {given} is not between 0 and {size - 1}.")
    if isinstance(given, tuple) and len(given) == 2 and given not in labels:
        return int(lookup(*given))
    return int(lookup(given))


def _without_numpy(given: Any) -> Any:
    """Plain Python numbers and tuples, whatever came."""
    given = given.tolist() if hasattr(given, "tolist") else given
    return tuple(_without_numpy(part) for part in given) if isinstance(given, (list, tuple)) else given


def _sentence(problem: MonMDP, state: int, outcome: int) -> str:
    after = int(problem.next_state[outcome])
    if problem.terminated[outcome]:
        then = "the episode ends"
    elif after == state:
        then = "stays"
    else:
        then = f"goes to {problem.state_label(after)}"
    noise = problem.reward_noise[outcome]
    env = f"environment reward {problem.env_reward[outcome]:g}" + (f" ± {noise:g} (Gaussian)" if noise else "")
    seen = float(problem.monitor.observe_probability[outcome])
    shown = {0.0: "hidden", 1.0: "shown"}.get(seen, f"shown with probability {seen:g}")
    monitor = f"monitor reward {problem.monitor.reward[outcome]:g}"
    return f"{problem.probability[outcome]:7.2%}  {then}; {env}, {shown}; {monitor}"
