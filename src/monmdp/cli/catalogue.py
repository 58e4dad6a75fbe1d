"""`monmdp list` and `monmdp optima`: what there is, and the best that can be earned in it."""

from __future__ import annotations

import dataclasses
import inspect
import json as json_text
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class List:
    """Show every environment, monitor and agent, what it is and which options it takes."""

    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self, console: Console) -> None:
        """Print what has a name, with its options."""
        from monmdp import ENVIRONMENTS, MONITORS
        from monmdp.agents import AGENTS, Agent
        from monmdp.environments import Environment
        from monmdp.monitors import Monitor

        kinds: list[tuple[str, Any, Any]] = [
            ("environments", ENVIRONMENTS, Environment),
            ("monitors", MONITORS, Monitor),
            ("agents", AGENTS, Agent),
        ]
        broken = [sentence for _, registry, _ in kinds for sentence in registry.broken().values()]
        if self.json:
            named: dict[str, Any] = {title: list(registry) for title, registry, _ in kinds}
            origins = {name: registry.origin(name) for _, registry, _ in kinds for name in registry}
            named["plugins"] = {name: origin for name, origin in origins.items() if origin}
            print(json_text.dumps({**named, "broken": broken}))
            return
        for title, registry, base in kinds:
            table = Table(title=f"{len(registry)} {title}", title_justify="left", box=None, padding=(0, 2, 0, 0))
            for column in ("name", "what it is", "own options"):
                table.add_column(column, overflow="fold")
            for name in registry:
                entry = registry.find(name)
                table.add_row(f"[bold]{name}[/]", escape(_summary(entry, registry.origin(name))), _options(entry, base))
            console.print(table)
            shared = _options(base, object)
            console.print(f"[dim]Every one also takes: {shared}[/]\n" if shared else "")
        console.print('[dim]Options are written as in monmdp solve Empty "Ask(cost=0.5)".[/]')
        for sentence in broken:
            console.print(sentence, style="yellow", soft_wrap=True, markup=False)


def _summary(entry: Any, origin: str) -> str:
    """The first line of a docstring, and the package that it comes from unless that is ours."""
    told = (inspect.getdoc(entry) or "").partition("\n")[0]
    return f"{told} ({origin})" if origin else told


def _options(entry: Any, base: Any) -> str:
    inherited = {field.name for field in dataclasses.fields(base)} if dataclasses.is_dataclass(base) else set()
    own = [field for field in dataclasses.fields(entry) if field.name not in inherited]
    return escape(", ".join(f"{field.name}={_default(field)}" for field in own))


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "?" if field.default is dataclasses.MISSING else repr(field.default)


@dataclass(frozen=True)
class Optima:
    """Solve the paper's 48 problems and print the optimal return of each."""

    json: bool = False
    """Print one JSON object, environment → monitor → optimal return, instead of a table."""

    def run(self, console: Console) -> None:
        """Print the exact optima of the paper's problems."""
        from monmdp import make, solve
        from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_MONITORS

        returns: dict[str, dict[str, float]] = {}
        with console.status("Solving 48 problems (the first time, kernels are compiled) …"):
            for environment in DEFAULT_STEPS:
                solutions = {monitor: solve(make(environment, monitor)) for monitor in PAPER_MONITORS}
                returns[environment] = {monitor: found.optimal_return for monitor, found in solutions.items()}
        if self.json:
            print(json_text.dumps(returns))
            return
        table = Table(
            title="Optimal return of rE + rM within the step limit, discount 0.99",
            title_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1),
        )
        table.add_column("", no_wrap=True)
        for monitor in PAPER_MONITORS:
            table.add_column(monitor, justify="right")
        for environment, row in returns.items():
            table.add_row(environment, *(f"{row[monitor]:.5f}" for monitor in PAPER_MONITORS))
        console.print(table)
