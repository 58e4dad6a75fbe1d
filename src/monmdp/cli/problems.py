"""Commands about problems and agents: list, solve and optima."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rich.console import Console
from rich.text import Text
from tyro.conf import Positional

from monmdp.cli.shared import (
    Command,
    Flag,
    Json,
    ProblemArguments,
    option,
    print_json,
    print_line,
    print_warnings,
    progress,
)
from monmdp.errors import MonMDPError
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.problem import MonMDP

BY_PROBLEM = "<by problem>"
#: Attributes of a solution that `monmdp solve` prints.
SOLUTION = (
    "optimal_return", "minimax_return", "cautious_return", "minimum_reward", "solvable", "hidden_rewards",
    "communicating",
)  # fmt: skip


@dataclass(frozen=True)
class List(Command):
    """List environments, monitors and agents with options and defaults.

    With a problem, defaults that are computed from it have their values.

    Examples: monmdp list
              monmdp list Hazard Button
    """

    environment: Annotated[Positional[str | None], option("none", metavar="[ENVIRONMENT]")] = None
    """Name and options of an environment, such as Hazard."""
    monitor: Annotated[Positional[str], option(metavar="[MONITOR]")] = "Full"
    """Name and options of a monitor, such as Ask."""
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import AGENTS, ENVIRONMENTS, MONITORS
        from monmdp.agents.base import DEEP, HASHED
        from monmdp.gym.worlds import WORLDS
        from monmdp.join import as_environment, make

        registries: list[Any] = [ENVIRONMENTS, MONITORS, AGENTS]
        broken = [message for registry in registries for message in registry.broken().values()]
        if self.json:
            names: dict[str, Any] = {f"{registry.kind}s": list(registry) for registry in registries}
            origins = {name: registry.origin(name) for registry in registries for name in registry}
            names["plugins"] = {name: origin for name, origin in origins.items() if origin}
            print_json({**names, "broken": broken})
            return
        environment = as_environment("Loop" if self.environment is None else self.environment)
        example = Example(environment, make(environment, self.monitor), chosen=self.environment is not None)
        for registry in registries:
            _print_kind(console, registry.kind, registry, list(registry), example)
        _print_kind(console, "agent with networks", AGENTS, list(DEEP), None)
        _print_kind(console, "agent with a table of pictures", AGENTS, list(HASHED), None)
        _print_kind(console, "world without a table, for sweeps", WORLDS, list(WORLDS), None)
        print_line(console, 'Options are written as in monmdp solve Empty "Ask(cost=0.5)".')
        if self.environment is None:
            print_line(console, f"{BY_PROBLEM}: monmdp list Hazard Button shows the value for that problem.")
        else:
            print_line(console, f"The defaults are those for {example.problem.name}.")
        print_warnings(console, broken)


class Example(NamedTuple):
    """A problem for which defaults are computed; chosen: whether the user asked for it."""

    environment: Any
    problem: MonMDP
    chosen: bool

    def resolved(self, entry: Any) -> Any:
        """An environment, a monitor or an agent with values in place of options that are computed."""
        from monmdp import Environment, Monitor
        from monmdp.protocol import paper_job

        if isinstance(entry, Environment):
            return entry.resolved()
        return (
            entry.installed(self.environment) if isinstance(entry, Monitor) else paper_job(self.problem, entry, 1).agent
        )


def _print_kind(console: Console, kind: str, registry: Any, names: list[str], example: Example | None) -> None:
    """Entries of one kind with their options, then the base classes, which explain shared options.

    example: the problem for which defaults are computed; without it they are shown as declared.
    """
    entries = {name: registry.find(name) for name in names}
    common = set.intersection(*(set(_declared(entry)) for entry in entries.values()))
    bases = dict.fromkeys(base for entry in entries.values() for base in entry.__mro__ if base not in entries.values())
    rows, shared = [], []
    for name, entry in entries.items():
        declared = _declared(entry)
        effective = declared if example is None else _effective(entry, example)
        options = {o: value for o, value in effective.items() if o not in common or value != declared[o]}
        rows.append(_row(name, entry, options, registry.origin(name)))
    for base in bases:
        defaults = _declared(base) if dataclasses.is_dataclass(base) else {}
        if options := {
            option: default for option, default in defaults.items() if option in vars(base) and default != "None"
        }:
            shared.append(_row(base.__name__, base, options))
    several = kind.replace(registry.kind, f"{registry.kind}s") if len(rows) > 1 else kind
    for title, cells in ((f"{len(rows)} {several}", rows), (f"shared options of {several}", shared)):
        if cells:
            table = terminal((), cells, title)
            table.columns[0].no_wrap = True
            console.print(table, "")


def _row(name: str, entry: Any, options: dict[str, str], origin: str | None = None) -> tuple[Text, Text]:
    """Name, docstring and options with their defaults; each option in the docstring begins a line."""
    summary, _, details = (inspect.getdoc(entry) or "").partition("\n\n")
    parts = [", ".join(f"{option}={default}" for option, default in options.items())]
    parts.append(re.sub(r"\n(?![\w, ]+: )", " ", details))
    return Text(name, "bold"), Text.assemble(
        summary, f" ({origin})" if origin else "", ("".join(f"\n{part}" for part in parts if part), "dim")
    )


def _declared(entry: Any) -> dict[str, str]:
    """Option → default as its class declares it, as Python text."""
    defaults = {}
    for field in dataclasses.fields(entry):
        factory = field.default_factory
        value = field.default if factory is dataclasses.MISSING else factory()
        defaults[field.name] = "required" if value is dataclasses.MISSING else repr(value)
    return defaults


def _effective(entry: Any, example: Example) -> dict[str, str]:
    """Option → default that is used; of options that are computed from a problem, their values if one was chosen."""
    from monmdp import Environment

    declared = _declared(entry)
    try:
        resolved = example.resolved(entry())
    except (MonMDPError, TypeError):  # a class with required options, or one that does not fit this problem
        return declared
    for name, text in declared.items():
        value = getattr(resolved, name)
        if repr(value) != text:
            declared[name] = repr(float(f"{value:.6g}") if isinstance(value, float) else value)
            if not example.chosen and not isinstance(resolved, Environment):
                declared[name] = BY_PROBLEM
    return declared


@dataclass(frozen=True)
class Solve(ProblemArguments):
    """Solve a problem exactly and draw its best policy.

    Examples: monmdp solve Empty Ask
              monmdp solve Bottleneck "Ask(never_observable=column)"
    """

    minimum_reward: Annotated[float | None, option("the environment's smallest reward", metavar="NUMBER")] = None
    """Lower bound of rewards that can never be observed, used by the minimax return."""
    diameter: Flag = False  # Also compute the diameter: the largest expected number of steps between two states.
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp import diameter, solve
        from monmdp.cli.grids import draw_policy

        problem = self.problem()
        with progress("solving (the first run compiles kernels)") as update:
            solution = solve(problem, minimum_reward=self.minimum_reward, progress=update)
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
                steps = diameter(problem, update)
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
