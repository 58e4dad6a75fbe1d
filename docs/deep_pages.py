"""Write docs/deep-comparison.md and its figures: `python docs/deep_pages.py runs`.

The folder contains one results folder per preset, such as runs/deep; sections of other presets are left as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from types import MappingProxyType

import numpy as np
from comparison_pages import section, write_page
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from monmdp.agents import AGENTS
from monmdp.figures import style
from monmdp.figures.curves import GREEDY_RETURN, STEPS, Band, Key, draw_panels, mean_curve, return_axis, show_steps
from monmdp.figures.heatmaps import cell_texts, draw_map, percent
from monmdp.figures.plots import picture_bytes
from monmdp.files import write_atomically
from monmdp.gym.worlds import WORLDS
from monmdp.monitors import MONITORS
from monmdp.paper.presets import PRESETS
from monmdp.protocol import kind
from monmdp.study.results import CellResults, Results
from monmdp.study.sweep import Sweep
from monmdp.tables import markdown
from monmdp.training.curves import half_width
from monmdp.training.job import TRAJECTORIES
from monmdp.training.live_job import LiveProblem

DIRECTED, NAIVE = "DeepDirected", "DeepNaive"
#: Agents that are no rivals: the first sees hidden rewards, the second has tables.
REFERENCES = ("DeepOracle", "HashDirectedModel")
#: Fractions of seeds: a problem is solved, and a rival passes the Full column; DeepDirected solves a problem of
#: deep-hard; a rival fails.
SOLVED, HARD_SOLVED, FAILED = 0.95, 0.9, 0.5
#: The step from which on problems of `deep` should stay solved.
WITHIN = 20_000
TITLES = {
    "deep": "The paper's 48 problems from pixels",
    "deep-hard": "Larger problems",
    "deep-continuous": "Continuous environments",
    "deep-foreign": "Environments of other packages",
}
#: What a live agent should reach: this share of DeepOracle's normalised return, with this share of rewards observed.
LIVE_RETURN, LIVE_ANSWERS = 0.95, 0.05
#: Preset → environments whose learning curves are drawn; the first three of a folder that has none of them.
CURVES = {
    "deep": ("Empty", "Hazard", "RiverSwim"),
    "deep-hard": ("Empty(rows=12, columns=12)", "DeepSea(size=12)", "DeepSea(size=30)"),
    "deep-continuous": ("Acrobot", "CartPole", "MountainCar", "PointMaze"),
    "deep-foreign": ("LunarLander", "MiniGrid"),
}
HEAD = f"""# Comparison of agents with networks

Agents that see pictures, in problems whose rewards are hidden by monitors; [From pixels](deep.md) explains them,
and says [on which devices](deep.md#measured) they ran.

- *Solved*: a seed is solved if the return of its last greedy policy, evaluated exactly, is at most 1e-6 below that of
  the optimal policy or, if some rewards can never be observed, of the minimax policy.
- *Steps* and *answers until solved*: training steps, and rewards observed, after which a seed stays solved until the
  end of training, for the median seed; "never" if fewer than half of the seeds are solved.
- *Revision* of an agent: it is raised when the agent gives other numbers than before with the same settings.
- {" and ".join(REFERENCES)} are no rivals: the first sees hidden rewards, the second has tables of pictures.
- A rival fails *because rewards are hidden* only if it passes the Full column: it solves at least {SOLVED:.0%} of the
  seeds in the same environment with the monitor Full, which shows every reward.
"""


def main(folder: str, docs: Path = Path(__file__).parent) -> None:
    """Write the sections whose results are in the folder."""
    sections = {}
    for preset, title in TITLES.items():
        if (Path(folder) / preset).is_dir():
            results = Results(Path(folder) / preset)
            made = "\n".join(["\n```", *commands(preset, results), "python docs/deep_pages.py runs", "```\n"])
            parts = [made, *remarks(preset, results)]
            if any(cell.settings["evaluation"] == "tests" for cell in results.cells.values()):
                parts += [*live(results), *figures(preset, results, docs, ("curves",))]
            else:
                parts += [*summary(preset, results), *figures(preset, results, docs)]
                parts += [
                    table(results, "Seeds solved", lambda cell: percent(share(cell)) + "%"),
                    table(results, "Steps until solved", lambda cell: typical(cell.steps_until_solved)),
                    table(results, "Answers until solved", lambda cell: typical(cell.observed_until_solved)),
                ]
            sections[title] = "\n".join(parts)
    write_page(docs / "deep-comparison.md", HEAD, TITLES.values(), sections)


def commands(preset: str, results: Results) -> list[str]:
    """The commands that make what a folder has of a preset: one for all agents with the same problems and sizes."""
    given = PRESETS[preset]
    sweeps = (given,) if isinstance(given, Sweep) else given
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for agent in agents_of(results):
        cells = results.of_agent(agent)
        parts = {
            "envs": [
                list(dict.fromkeys(cell.environment for cell in cells)),
                [e for s in sweeps for e in s.environments],
            ],
            "monitors": [list(dict.fromkeys(cell.monitor for cell in cells)), [m for s in sweeps for m in s.monitors]],
            "seeds": [{str(max(len(cell.seeds) for cell in cells))}, {str(sweep.seeds) for sweep in sweeps}],
            "steps": [{str(cell.settings["steps"]) for cell in cells}, usual_steps(sweeps, cells)],
        }
        chosen = {name: ",".join(has) for name, (has, whole) in parts.items() if set(has) != set(map(str, whole))}
        groups.setdefault(tuple(chosen.items()), []).append(agent)
    lines = []
    for options, agents in groups.items():
        whole = len(agents) == len(sweeps[0].agents)
        named = (() if whole else (("agents", ",".join(agents)),)) + options
        text = "".join(f' --{name} "{value}"' if "(" in value else f" --{name} {value}" for name, value in named)
        lines.append(f"monmdp reproduce --preset {preset}{text} --out runs/{preset}")
    return lines


def remarks(preset: str, results: Results) -> list[str]:
    """Runs of each agent that are missing, and runs that were made with earlier revisions of it."""
    agents = agents_of(results)
    return [paragraph(text) for own in agents for text in missing(preset, results, own) + earlier(results, own)]


def missing(preset: str, results: Results, agent: str) -> list[str]:
    """How many of the problems, and of the seeds, an agent has, if these are not all."""
    given, cells = PRESETS[preset], results.of_agent(agent)
    sweeps = (given,) if isinstance(given, Sweep) else given
    count, planned = sum(len(s.environments) * len(s.monitors) for s in sweeps), sweeps[0].seeds
    most = max(len(cell.seeds) for cell in cells)
    fewer = [len(cell.seeds) for cell in cells if len(cell.seeds) < most]
    if len(cells) == count and not fewer and most >= planned:
        return []
    text = f"Not all runs were made: {short(results, agent)} has results in {len(cells)} of {count} problems"
    text += f", with {most} of {planned} seeds" if most < planned else ""
    seeds = " to ".join(map(str, sorted({min(fewer), max(fewer)}))) if fewer else ""
    return [text + (f", in {len(fewer)} of them with {seeds} instead of {most} seeds." if fewer else ".")]


def earlier(results: Results, agent: str) -> list[str]:
    """For each earlier revision of an agent, the problems in which it ran."""
    today, places = AGENTS.find(kind(agent)).revision, dict[int, dict[str, list[str]]]()
    for cell in results.of_agent(agent):
        made = cell.settings["trajectories"] - TRAJECTORIES
        environment, monitor = results.labels[cell.environment], kind(cell.monitor)
        places.setdefault(made, {}).setdefault(environment, []).append(monitor)
    texts = []
    for made in sorted(places.keys() - {today}):
        others = {name for other in places.keys() - {made} for name in places[other]}
        where = [f"{name} + {', '.join(own)}" if name in others else name for name, own in places[made].items()]
        place = f" in {'; '.join(where)}" if others else ""
        texts.append(f"Runs of {short(results, agent)}{place} are of its revision {made}, and today's is {today}.")
    return texts


def usual_steps(sweeps: Sequence[Sweep], cells: Sequence[CellResults]) -> set[str]:
    """The training steps of a preset, in environments without a table their own."""
    own = {str(WORLDS.find(kind(cell.environment)).steps) for cell in cells if kind(cell.environment) in WORLDS}
    return own or {str(sweep.steps) for sweep in sweeps}


def agents_of(results: Results) -> list[str]:
    """The agents, DeepDirected first."""
    return sorted(results.agents, key=lambda agent: kind(agent) != DIRECTED)


def short(results: Results, agent: str) -> str:
    """The class of an agent, with the options in which it differs from others of its class."""
    return kind(agent) if [*map(kind, results.agents)].count(kind(agent)) == 1 else results.labels[agent]


def share(cell: CellResults) -> float:
    """The fraction of seeds that end solved."""
    return float(cell.solved.mean())


def typical(values: np.ndarray) -> str:
    """The median of a number per seed, infinite for seeds that are not solved."""
    middle = float(np.median(values))
    return f"{middle:,.0f}" if np.isfinite(middle) else "never"


def label(results: Results, environment: str, monitor: str) -> str:
    """A problem with the options in which it differs from others."""
    return f"{results.labels[environment]} + {results.labels[monitor]}"


def table(
    results: Results,
    title: str,
    value: Callable[[CellResults], str],
    more: Mapping[str, Mapping[Key, float]] = MappingProxyType({}),
) -> str:
    """A section with one value per problem and agent; more: columns before those of agents, values by problem."""
    rows, agents = [], agents_of(results)
    for names in results.problems:
        cells = {cell.agent: cell for cell in results.of_problem(*names)}
        first = [label(results, *names), *(f"{values[names]:.4g}" for values in more.values())]
        rows.append([*first, *(value(cells[agent]) if agent in cells else "–" for agent in agents)])
    head = ["problem", *more, *(short(results, agent) for agent in agents)]
    return f"### {title}\n\n{markdown(head, rows, 'l' + 'r' * (len(head) - 1))}\n"


def live(results: Results) -> list[str]:
    """Returns of test episodes, between those of random actions and of DeepOracle, and rewards observed."""
    scores: dict[str, np.ndarray] = {}
    low: dict[Key, float] = {}
    failing = set()
    for names in results.problems:
        cells = results.of_problem(*names)
        parts = WORLDS.build(names[0]), MONITORS.build(names[1]), cells[0].settings["discount"]
        low[names] = LiveProblem(*parts).random_return()
        high = [float(cell.final_returns.mean()) for cell in cells if kind(cell.agent) == REFERENCES[0]]
        if not high or high[0] <= low[names]:
            failing.add(label(results, *names))
            continue
        scores |= {cell.identity: (cell.final_returns - low[names]) / (high[0] - low[names]) for cell in cells}

    def seen(cell: CellResults) -> float:
        return float(cell.curve("observed")[:, -1].mean()) / cell.settings["steps"]

    def mean(values: np.ndarray, digits: str) -> str:
        width = float(half_width(values))
        return f"{values.mean():{digits}}" + ("" if np.isnan(width) else f" ± {width:{digits}}")

    own = [cell for cell in results.of_agent(agents_of(results)[0]) if cell.identity in scores]
    enough = [cell for cell in own if scores[cell.identity].mean() >= LIVE_RETURN]
    frugal = [cell for cell in enough if seen(cell) <= LIVE_ANSWERS]
    oracle = REFERENCES[0]
    text = (
        f"**{DIRECTED} has at least {LIVE_RETURN:.0%} of {oracle}'s normalised return in {len(enough)} of {len(own)} "
        f"problems, in {len(frugal)} of them with at most {LIVE_ANSWERS:.0%} of the rewards observed.**"
    )
    if failing:
        text += f" {oracle} is not better than random actions, or was not run, in {', '.join(sorted(failing))}."
    definition = (
        "A return J is the mean over test episodes of the sum of true rewards, without discount, less what the monitor "
        f"charges; the normalised return is (J − J of random actions) / (J of {oracle} − J of random actions). Tables "
        "have means over seeds, of their last policies, with 95% intervals."
    )

    def normalised(cell: CellResults) -> str:
        return mean(scores[cell.identity], ".2f") if cell.identity in scores else "–"

    return [
        paragraph(text),
        paragraph(definition),
        table(results, "Normalised returns", normalised),
        table(results, "Rewards observed during training", lambda cell: f"{seen(cell):.1%}"),
        table(results, "Returns", lambda cell: mean(cell.final_returns, ".4g"), {"random actions": low}),
    ]


def summary(preset: str, results: Results) -> list[str]:
    """What the goals say, and every agent in one row."""
    goals = {"deep": [permanence, answers], "deep-hard": [hard, hidden]}[preset]
    rows = []
    for agent in agents_of(results):
        cells = results.of_agent(agent)
        solved = np.concatenate([cell.solved for cell in cells])
        until, seen = (
            np.concatenate([getattr(cell, name) for cell in cells])
            for name in ("steps_until_solved", "observed_until_solved")
        )
        enough = sum(share(cell) >= SOLVED for cell in cells)
        values = [f"{solved.mean():.1%}", f"{enough} of {len(cells)}", typical(until), typical(seen)]
        rows.append([results.labels[agent], *values])
    head = ["agent", "runs solved", f"problems with {SOLVED:.0%} of seeds", "steps until solved", "answers"]
    text = "All runs of an agent together; steps and answers until solved are those of its median run."
    return [*(goal(results) for goal in goals), section(text, head, rows)]


def paragraph(text: str) -> str:
    """A paragraph of a page."""
    return f"{fill(text, 120)}\n"


def permanence(results: Results) -> str:
    """The problems that DeepDirected solves and keeps solved."""
    cells = results.of_agent(agents_of(results)[0])
    steps, count = max(int(cell.steps[-1]) for cell in cells), len(cells)
    failed = [cell.problem_name for cell in cells if share(cell) < SOLVED]
    early = sum(float((cell.steps_until_solved <= WITHIN).mean()) >= SOLVED for cell in cells)
    text = (
        f"**{DIRECTED} is exactly optimal in at least {SOLVED:.0%} of the seeds at the end of {steps:,} steps in "
        f"{count - len(failed)} of {count} problems.**"
    )
    if steps > WITHIN:
        text += f" In {early} of them that many seeds are solved within {WITHIN:,} steps and stay so until the end."
    return paragraph(text + (f" The others: {', '.join(failed)}." if failed else ""))


def answers(results: Results) -> str:
    """How many answers DeepDirected needs compared with DeepNaive, in problems with Ask."""
    ratios, unsolved = [], 0
    for environment, monitor in results.problems:
        both = [results.cell(environment, monitor, agent) for agent in (DIRECTED, NAIVE)]
        if kind(monitor) == "Ask" and all(both):
            mine, other = (float(np.median(cell.observed_until_solved)) for cell in both)
            unsolved += np.isinf(other)
            if np.isfinite(mine) or np.isfinite(other):
                ratios.append(mine / other if np.isfinite(mine) else np.inf)
    if not ratios:
        return paragraph(f"There is no problem with Ask that {DIRECTED} or {NAIVE} solves.")
    return paragraph(
        f"**Until solved, {DIRECTED} needs {np.median(ratios):.2f} times as many answers as {NAIVE} in the median of "
        f"{len(ratios)} problems with Ask**; a problem that {NAIVE} does not solve in half of its seeds counts as 0 "
        f"({unsolved} of them), one that only {DIRECTED} does not solve as infinite, and one that neither solves not."
    )


def hard(results: Results) -> str:
    """The problems that DeepDirected solves."""
    cells = results.of_agent(agents_of(results)[0])
    failed = [cell for cell in cells if share(cell) < HARD_SOLVED]
    names = ", ".join(f"{label(results, cell.environment, cell.monitor)} ({share(cell):.0%})" for cell in failed)
    return paragraph(
        f"**{DIRECTED} is exactly optimal in at least {HARD_SOLVED:.0%} of the seeds in {len(cells) - len(failed)} of "
        f"{len(cells)} problems.**" + (f" The others: {names}." if failed else "")
    )


def hidden(results: Results) -> str:
    """For problems with hidden rewards, the best rival among those that pass the Full column."""
    rows, valid, failing, partly, own = [], 0, 0, 0, agents_of(results)[0]
    for environment, monitor in results.problems:
        full = [cell for name in results.monitors if kind(name) == "Full"
                for cell in results.of_problem(environment, name)]  # fmt: skip
        tested = [cell for cell in full if kind(cell.agent) not in (DIRECTED, *REFERENCES)]
        passing = {cell.agent for cell in tested if share(cell) >= SOLVED}
        cells = {cell.agent: cell for cell in results.of_problem(environment, monitor)}
        if kind(monitor) == "Full" or not full or own not in cells:
            continue
        rivals = sorted(passing & cells.keys(), key=lambda agent: -share(cells[agent]))
        valid, failing = valid + bool(rivals), failing + bool(rivals and share(cells[rivals[0]]) <= FAILED)
        partly += bool(rivals and passing - cells.keys())
        best = "none was run" if passing or not tested else "none"
        if rivals:
            best = f"{results.labels[rivals[0]]}, {share(cells[rivals[0]]):.0%}"
        passed = ", ".join(results.labels[agent] for agent in agents_of(results) if agent in passing)
        passed = passed or ("none" if tested else "none was run")
        rows.append([label(results, environment, monitor), f"{share(cells[own]):.0%}", best, passed])
    text = (
        f"**The best rival that passes the Full column solves at most {FAILED:.0%} of the seeds in {failing} of "
        f"{len(rows)} problems with hidden rewards**"
    )
    text += f"; in {len(rows) - valid} of them, no rival that passes it was run." if valid < len(rows) else "."
    text += f" In {partly} others, some rivals that pass it were not run." if partly else ""
    return section(text, ["problem", DIRECTED, "best rival that passes Full", "rivals that pass Full"], rows)


def figures(preset: str, results: Results, docs: Path, names: Sequence[str] = ("solved", "curves")) -> list[str]:
    """Draw the summary and some learning curves, and return what the page says about them."""
    sizes = [len(cell.seeds) for cell in results.cells.values()]
    seeds = " to ".join(map(str, sorted({min(sizes), max(sizes)})))
    runs = "one seed" if max(sizes) == 1 else f"mean of {seeds} seeds with its 95% interval"
    shares = "Percentage of runs that end solved, by agent and monitor, in the problems in which the agent was run."
    parts = {
        "solved": (by_monitor, shares),
        "curves": (learning, f"Return of the greedy policy, {runs}."),
    }
    lines = []
    for name in names:
        draw, text = parts[name]
        path = docs / "images" / f"{preset}-{name}.png"
        path.parent.mkdir(exist_ok=True)
        with style.styled():
            write_atomically(path, picture_bytes(draw(preset, results), path.suffix))
        lines.append(f"![{text}](images/{path.name})\n\n*{text}*\n")
    return lines


def by_monitor(preset: str, results: Results) -> Figure:
    """The fraction of runs that end solved, agents × monitors."""
    agents, monitors = agents_of(results), list(dict.fromkeys(kind(monitor) for monitor in results.monitors))
    solved: dict[tuple[str, str], list[float]] = {}
    for cell in results.cells.values():
        solved.setdefault((cell.agent, kind(cell.monitor)), []).append(share(cell))
    values = np.array([[np.mean(solved.get((a, m), [np.nan])) for m in monitors] for a in agents])
    figure = Figure(figsize=(1.4 + 0.62 * len(monitors), 0.5 + 0.22 * len(agents)), layout="constrained")
    axes = figure.subplots()
    draw_map(axes, values, Normalize(0, 1), colormaps["Blues"], cell_texts(percent, values), style.TICK)
    axes.set_xticks(np.arange(len(monitors)) + 0.5, monitors, weight="bold")
    axes.set_yticks(np.arange(len(agents)) + 0.5, [results.labels[agent] for agent in agents])
    axes.tick_params(axis="x", labeltop=True, labelbottom=False)
    axes.set_xlabel("runs that end solved, in %", size=style.TICK, color=style.FADED)
    return figure


def learning(preset: str, results: Results) -> Figure:
    """Returns during training in a few environments, by monitor."""
    shown = [name for name in results.environments if name in CURVES[preset]] or results.environments[:3]
    panels: dict[Key, dict[str, Band]] = {}
    optima: dict[Key, list[float]] = {}
    for environment, monitor in results.problems:
        for cell in results.of_problem(environment, monitor) if environment in shown else ():
            key = results.labels[environment], kind(monitor)
            panels.setdefault(key, {})[cell.agent] = mean_curve(cell, "return")
            optima[key] = [cell.target_return] if np.isfinite(cell.target_return) else []
    styles = style.agent_styles(agents_of(results))
    finish, more = return_axis(panels, optima, styles)

    def finish_steps(axes: Axes, bands: dict[str, Band], problem: Key) -> None:
        finish(axes, bands, problem)
        show_steps(axes)

    given = PRESETS[preset]
    order = [kind(name) for name in (given if isinstance(given, Sweep) else given[0]).monitors]
    columns = sorted({column for _, column in panels}, key=order.index)
    draw = partial(draw_panels, panels, columns, styles, (STEPS, GREEDY_RETURN), finish_steps, more)
    return draw(names={**results.labels, **{agent: short(results, agent) for agent in results.agents}}, missing=False)


if __name__ == "__main__":
    main(sys.argv[1])
