"""Commands about problems and agents: list, solve and optima."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text

from monmdp.cli.shared import Command, Json, ProblemArguments, option, print_json, print_line, print_warnings
from monmdp.tables import terminal

#: Attributes of a solution that `monmdp solve` prints.
SOLUTION = (
    "optimal_return", "minimax_return", "cautious_return", "minimum_reward", "solvable", "hidden_rewards",
    "communicating",
)  # fmt: skip


@dataclass(frozen=True)
class List(Command):
    """List environments, monitors and agents with options and defaults.

    Example: monmdp list
    """

    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import AGENTS, ENVIRONMENTS, MONITORS

        registries: list[Any] = [ENVIRONMENTS, MONITORS, AGENTS]
        broken = [message for registry in registries for message in registry.broken().values()]
        if self.json:
            names: dict[str, Any] = {f"{registry.kind}s": list(registry) for registry in registries}
            origins = {name: registry.origin(name) for registry in registries for name in registry}
            names["plugins"] = {name: origin for name, origin in origins.items() if origin}
            print_json({**names, "broken": broken})
            return
        for registry in registries:
            _print_kind(console, registry)
        print_line(console, 'Options are written as in monmdp solve Empty "Ask(cost=0.5)".')
        print_warnings(console, broken)


def _print_kind(console: Console, registry: Any) -> None:
    """Every entry of one kind with its options and defaults; options of base classes are explained once."""
    entries = {name: registry.find(name) for name in registry}
    bases = dict.fromkeys(base for entry in entries.values() for base in entry.__mro__ if base not in entries.values())
    common = set.intersection(*(set(_defaults(entry)) for entry in entries.values()))
    rows = []
    for name, entry in entries.items():
        origin, own = registry.origin(name), _meanings(entry)
        summary = (inspect.getdoc(entry) or "").partition("\n")[0] + (f" ({origin})" if origin else "")
        options = {option: default for option, default in _defaults(entry).items() if option not in common}
        lines = [", ".join(f"{option}={default}" for option, default in options.items() if option not in own)]
        lines += [f"{option}={default}: {own[option]}" for option, default in options.items() if option in own]
        text = "".join(f"\n{line}" for line in lines if line)
        rows.append((Text(name, "bold"), Text.assemble(summary, (text, "dim"))))
    shared = [
        (f"{option}={_defaults(base)[option]}", meaning)
        for base in filter(dataclasses.is_dataclass, bases)
        for option, meaning in _meanings(base).items()
    ]
    for title, cells in ((f"{len(rows)} {registry.kind}s", rows), (f"shared options of {registry.kind}s", shared)):
        table = terminal((), cells, title)
        table.columns[0].no_wrap = True
        console.print(table, "")


def _defaults(entry: Any) -> dict[str, str]:
    """Option → default, as Python text."""
    defaults = {}
    for field in dataclasses.fields(entry):
        factory = field.default_factory
        value = field.default if factory is dataclasses.MISSING else factory()
        defaults[field.name] = "required" if value is dataclasses.MISSING else repr(value)
    return defaults


def _meanings(entry: Any) -> dict[str, str]:
    """Option → meaning, from parts such as `cost, fee: price of a reward.` of the docstring of a class."""
    option = f"(?:{'|'.join(_defaults(entry))})"
    names = rf"(?:^|(?<=\. ))({option}(?:(?:, | and ){option})*): "
    parts = re.split(names, inspect.cleandoc(entry.__doc__ or ""), flags=re.MULTILINE)
    meanings: dict[str, str] = {}
    for options, meaning in zip(parts[1::2], parts[2::2], strict=True):
        meanings |= dict.fromkeys(re.split(", | and ", options), " ".join(meaning.partition("\n\n")[0].split()))
    return meanings


@dataclass(frozen=True)
class Solve(ProblemArguments):
    """Solve a problem exactly and draw its best policy.

    Examples: monmdp solve Empty Ask
              monmdp solve Bottleneck "Ask(never_observable=column)"
    """

    minimum_reward: Annotated[float | None, option("the environment's smallest reward")] = None
    """Lower bound of rewards that can never be observed, used by the minimax return."""
    diameter: bool = False  # Also compute the diameter: the largest expected number of steps between two states.
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import diameter, solve
        from monmdp.cli.grids import draw_policy

        problem = self.problem()
        with console.status("Solving (the first run compiles kernels) …"):
            solution = solve(problem, minimum_reward=self.minimum_reward)
            summary: dict[str, object] = {
                "environment": problem.environment.name,
                "monitor": problem.monitor.name,
                "states": problem.n_states,
                "actions": problem.n_actions,
                "reachable_states": int(problem.reachable.sum()),
                **{name: getattr(problem, name) for name in ("step_limit", "discount", "digest")},
                **{name: getattr(solution, name) for name in SOLUTION},
            }
            if self.diameter:
                steps = diameter(problem)
                summary["diameter"] = steps if steps < float("inf") else None
        if self.json:
            print_json(summary)
            return
        rows = [(name.replace("_", " "), _as_text(value)) for name, value in summary.items() if name != "digest"]
        console.print(terminal((), rows), draw_policy(problem, solution.policy, solution.v))


def _as_text(value: Any) -> str:
    """A value of the summary for readers; of long lists, the number and the first three."""
    if isinstance(value, list):
        examples = ", ".join(f"{action} in {state}" for state, action in value[:3])
        return f"{len(value)} ({examples}{', …' if len(value) > 3 else ''})" if value else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Optima(Command):
    """Solve the paper's 48 problems and print the optimal return of each.

    Example: monmdp optima --json
    """

    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import make, solve
        from monmdp.protocol import DEFAULT_STEPS, PAPER_MONITORS

        with console.status("Solving 48 problems (the first run compiles kernels) …"):
            returns = {
                environment: {monitor: solve(make(environment, monitor)).optimal_return for monitor in PAPER_MONITORS}
                for environment in DEFAULT_STEPS
            }
        if self.json:
            print_json(returns)
            return
        rows = [[environment, *(f"{value:.5f}" for value in row.values())] for environment, row in returns.items()]
        title = "Optimal return (environment + monitor reward, discount 0.99)"
        console.print(terminal(("", *PAPER_MONITORS), rows, title, "lrrrrrr"))
