"""Commands about problems and agents: list, solve and optima."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.text import Text

from monmdp.cli.shared import Command, Json, ProblemArguments, option, print_json, say
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.exact.solve import Solution

#: A line of a class docstring that explains options, such as `beta_bar: explore while β is above it.`
OPTION_LINE = re.compile(r"(?P<names>\w+(?:(?:, | and )\w+)*): (?P<text>.+)")


@dataclass(frozen=True)
class List(Command):
    """List all environments, monitors and agents with their options and defaults.

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
        say(console, 'Options are written as in monmdp solve Empty "Ask(cost=0.5)".')
        for message in broken:
            say(console, message, "yellow")


def _print_kind(console: Console, registry: Any) -> None:
    """Every entry of one kind with its options and their defaults, and the meaning of the options."""
    entries, meanings = [], dict[tuple[str, str], None]()
    for name in registry:
        entry, origin = registry.find(name), registry.origin(name)
        summary = (inspect.getdoc(entry) or "").partition("\n")[0] + (f" ({origin})" if origin else "")
        defaults = ", ".join(f"{field.name}={_default(field)}" for field in dataclasses.fields(entry))
        entries.append((Text(name, "bold"), Text.assemble(summary, ("\n" + defaults, "dim") if defaults else "")))
        meanings |= dict.fromkeys(_explained_options(entry))
    for title, rows in ((f"{len(entries)} {registry.kind}s", entries), (f"options of {registry.kind}s", meanings)):
        table = terminal((), rows, title)
        table.pad_edge, table.columns[0].no_wrap = False, True
        console.print(table, "")


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "required" if field.default is dataclasses.MISSING else repr(field.default)


def _explained_options(entry: type[Any]) -> Iterator[tuple[str, str]]:
    """(option, meaning) for the lines `option: meaning` in the docstrings of a class and its bases."""
    options = {field.name for field in dataclasses.fields(entry)}
    for base in reversed(entry.__mro__):
        paragraphs = re.split(r"\n(?=\w[\w, ]*: |\n|$)", inspect.cleandoc(base.__doc__ or ""))
        for match in filter(None, map(OPTION_LINE.match, (" ".join(part.split()) for part in paragraphs))):
            for name in re.split(", | and ", match["names"]):
                if name in options:
                    yield name, match["text"]


@dataclass(frozen=True)
class Solve(ProblemArguments):
    """Solve a problem exactly: optimal return, hidden rewards and best policy.

    Examples: monmdp solve Empty Ask
              monmdp solve Bottleneck "Ask(never_observable=column)"
    """

    minimum_reward: Annotated[float | None, option("the environment's smallest reward")] = None
    """Lower bound of rewards that can never be observed, used by the minimax return."""
    diameter: bool = False
    """Also compute the diameter: the largest expected number of steps between two states."""
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import diameter, solve
        from monmdp.render.policy import draw_policy

        problem = self.problem()
        with console.status("Solving (the first run compiles kernels) …"):
            solution = solve(problem, minimum_reward=self.minimum_reward)
            summary = _summary(solution)
            if self.diameter:
                steps = diameter(problem)
                summary["diameter"] = steps if steps < float("inf") else None
        if self.json:
            print_json(summary)
            return
        rows = [(name.replace("_", " "), _as_text(value)) for name, value in summary.items()]
        console.print(terminal((), rows), draw_policy(problem, solution.policy, solution.v))


def _summary(solution: Solution) -> dict[str, object]:
    """The exact values of a problem, as JSON and as a table show them."""
    problem = solution.problem
    return {
        "environment": problem.environment.name,
        "monitor": problem.monitor.name,
        "states": problem.n_states,
        "actions": problem.n_actions,
        "reachable_states": int(problem.reachable.sum()),
        "step_limit": problem.step_limit,
        "discount": problem.discount,
        "digest": problem.digest,
        "optimal_return": solution.optimal_return,
        "minimax_return": solution.minimax_return,
        "cautious_return": solution.cautious_return,
        "minimum_reward": solution.minimum_reward,
        "solvable": solution.solvable,
        "hidden_rewards": [list(pair) for pair in solution.hidden_rewards],
        "communicating": solution.communicating,
    }


def _as_text(value: Any) -> str:
    """A value of the summary for readers; of long lists, the number and the first three."""
    if isinstance(value, list):
        examples = ", ".join(f"{action} in {state}" for state, action in value[:3])
        return f"{len(value)} ({examples}{', …' if len(value) > 3 else ''})" if value else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Optima(Command):
    """Solve the paper's 48 problems and print the optimal return of each.

    Example: monmdp optima --json
    """

    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import make, solve
        from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_MONITORS

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
