"""The paper's claims, each as a statement that data can confirm or refute.

Words such as "vast majority" and "about" become numbers here; `expected` tells them.
"""

from __future__ import annotations

import numpy as np

from monmdp.join import make
from monmdp.paper.evidence import (
    Answer,
    Claim,
    Detail,
    MissingError,
    Statement,
    evaluated_runs_of,
    in_common,
    most,
    named_problems,
    problem_of,
    runs_of,
    where_testable,
)
from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, STEP_FACTOR
from monmdp.paper.theorem import exploring_against_bound, told_of_bounds
from monmdp.problem import Floats
from monmdp.statistics import mean_interval, paired_difference
from monmdp.study.results import CellResults, Results

__all__ = ["Claim", "Detail", "check_claims"]

BASELINES = PAPER_AGENTS[1:]
GRIDS = [environment for environment in DEFAULT_STEPS if environment != "RiverSwim"]
#: "The vast majority of seeds"; learning at all is ending optimal in more than half of them.
VAST_MAJORITY = 0.9
HALF = 0.5
#: "About", of a ratio or a number of observed rewards, and of the extremes of a single run.
ABOUT = 0.1
ABOUT_EXTREME = 1.5
#: Chance of a wrong "significantly worse" among all comparisons in RiverSwim together.
SIGNIFICANCE = 0.05
#: Where β is infinite the paper's figures show this.
INFINITE_BETA = 10.0
THRESHOLD = 0.01
#: Rank correlation from which on β counts as falling with the size of the problem.
RANK_CORRELATION = 0.5
#: A pair is almost unvisited below this fraction of all steps; "many" are this fraction of pairs.
ALMOST_UNVISITED = 0.001
MANY = 0.25
PAPER_COUNTS = (374, 3_425)


def check_claims(results: Results) -> list[Claim]:
    """Every claim of the paper that a reproduction can check, against the runs of a folder."""
    return [statement.check(results) for statement in (*STATEMENTS, _theorem(results))]


def solved_by(results: Results, environment: str, monitor: str, agent: str) -> float:
    """Fraction of seeds that end optimal."""
    return float(evaluated_runs_of(results, environment, monitor, agent).solved.mean())


def mostly_solved(results: Results, environment: str, monitor: str, agent: str, least: float) -> Answer:
    """At least this fraction of seeds ends optimal."""
    solved = solved_by(results, environment, monitor, agent)
    return Answer(f"{solved:.0%}", f"≥ {least:.0%}", solved >= least, solved - least)


def learns(results: Results, environment: str, monitor: str) -> Answer:
    """Directed ends optimal in more than half of the seeds."""
    solved = solved_by(results, environment, monitor, "Directed")
    return Answer(f"{solved:.0%}", f"> {HALF:.0%}", solved > HALF, solved - HALF)


def rarely_solved(results: Results, environment: str, monitor: str) -> Answer:
    """Optimism is not optimal: it ends so in fewer than the vast majority of seeds."""
    solved = solved_by(results, environment, monitor, "Optimism")
    return Answer(f"{solved:.0%}", f"< {VAST_MAJORITY:.0%}", solved < VAST_MAJORITY, VAST_MAJORITY - solved)


def fails_somewhere(results: Results, agent: str) -> Answer:
    """There is a problem in which at most half of an agent's seeds end optimal."""
    fractions, missing = {}, []
    for name, (environment, monitor) in named_problems(GRIDS).items():
        try:
            fractions[name] = solved_by(results, environment, monitor, agent)
        except MissingError as why:
            missing.append(f"{name}: {why}")
    failed = [name for name, solved in fractions.items() if solved <= HALF]
    if missing and not failed:
        raise MissingError(f"no answer in {len(missing)} problems, such as {missing[0]}")
    worst = min(fractions, key=lambda name: fractions[name])
    measured = f"fails in {len(failed)} of {len(fractions)}, least {fractions[worst]:.0%} in {worst}"
    return Answer(measured, f"≤ {HALF:.0%} somewhere", bool(failed), HALF - fractions[worst])


def not_worse(results: Results, environment: str, monitor: str, agent: str) -> Answer:
    """Paired by seed, Directed's final return is not significantly below a baseline's."""
    level = SIGNIFICANCE / len(_RIVER_COMPARISONS)
    seeds = int(np.ceil(np.log2(2.0 / level)))  # with fewer, no pattern of signs could be significant
    ours = evaluated_runs_of(results, environment, monitor, "Directed", seeds)
    theirs = evaluated_runs_of(results, environment, monitor, agent, seeds)
    here, there = in_common(ours, theirs, seeds)
    found = paired_difference(ours.final_returns[here], theirs.final_returns[there])
    worse = found.estimate < 0 and found.p_value <= level
    measured = f"{found.estimate:+.3g} [{found.low:.3g}, {found.high:.3g}], p = {found.p_value:.2g}"
    return Answer(measured, f"≥ 0 or p > {level:.2g}", not worse, found.estimate)


def _observed(cell: CellResults) -> Floats:
    """Rewards observed in the whole run, [seed]."""
    return cell.curve("observed")[:, -1].astype(np.float64)


def observes(results: Results, environment: str, monitor: str, share: float) -> Answer:
    """Directed observes about this share of all rewards."""
    cell = runs_of(results, environment, monitor, "Directed")
    steps, observed = cell.settings["steps"], float(_observed(cell).mean())
    deviation = abs(observed / steps / share - 1.0)
    measured = f"{observed:,.0f} of {steps:,}, {observed / steps:.1%}"
    bound = f"{share * (1 - ABOUT) * steps:,.0f}–{share * (1 + ABOUT) * steps:,.0f}"
    return Answer(measured, bound, deviation <= ABOUT, ABOUT - deviation)


def observes_more(results: Results, environment: str, monitor: str, agent: str) -> Answer:
    """Paired by seed, Directed observes more rewards than a baseline."""
    ours = runs_of(results, environment, monitor, "Directed")
    theirs = runs_of(results, environment, monitor, agent)
    here, there = in_common(ours, theirs)
    found = mean_interval(_observed(ours)[here] - _observed(theirs)[there])
    measured = f"{found.estimate:+,.0f} [{found.low:,.0f}, {found.high:,.0f}]"
    return Answer(measured, "interval above 0", found.low > 0, found.low / ours.settings["steps"])


def _mean_beta(cell: CellResults) -> Floats:
    """Mean over seeds, [point]."""
    beta: Floats = np.minimum(cell.curve("beta"), INFINITE_BETA).mean(0)
    return beta


def beta_falls(results: Results, environment: str, monitor: str) -> Answer:
    """β is lower at the end of each quarter of training than a quarter before."""
    cell = runs_of(results, environment, monitor, "Directed")
    quarters = np.searchsorted(cell.steps, [cell.settings["steps"] * k / 4 for k in range(1, 5)])
    beta = _mean_beta(cell)[quarters]
    falls = float((beta[:-1] / beta[1:]).min())
    return Answer(" → ".join(f"{value:.2g}" for value in beta), "falling", falls > 1.0, falls - 1.0)


def beta_stays_above(results: Results, environment: str, monitor: str) -> Answer:
    """No seed's β comes down to the threshold."""
    least = float(runs_of(results, environment, monitor, "Directed").curve("beta").min())
    return Answer(f"least β {least:.4g}", f"> {THRESHOLD:g}", least > THRESHOLD, least - THRESHOLD)


def beta_by_size(results: Results, monitor: str, equal_steps: bool) -> Answer:
    """β is the lower the fewer pairs the problem has, after equally many steps or at the end of each budget."""
    cells = [runs_of(results, environment, monitor, "Directed") for environment in DEFAULT_STEPS]
    steps = min(DEFAULT_STEPS.values()) * STEP_FACTOR[monitor]
    beta = [_mean_beta(cell)[np.searchsorted(cell.steps, steps) if equal_steps else -1] for cell in cells]
    if np.ptp(beta) == 0.0:
        return Answer("the same β everywhere", "", False, -1.0)
    found = rank_correlation(np.array([problem_of(cell).reachable_pairs.sum() for cell in cells]), np.array(beta))
    bound = f"≥ {RANK_CORRELATION:g}"
    return Answer(f"{found:.2f}", bound, found >= RANK_CORRELATION, found - RANK_CORRELATION)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's: the correlation of ranks, equal values sharing their mean rank."""

    def ranks(values: Floats) -> Floats:
        below = (values[:, None] > values).sum(1)
        equal = (values[:, None] == values).sum(1)
        return np.asarray(below + (equal + 1) / 2, np.float64)

    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def _river_counts(results: Results, agent: str) -> tuple[Floats, Floats]:
    """Visit counts in RiverSwim + Button of all pairs, and of those with the monitor on, [seed, pairs] each."""
    cell = runs_of(results, "RiverSwim", "Button", agent)
    problem = problem_of(cell)
    counts = np.array(cell.finals(["visit_counts"])["visit_counts"], np.float64)
    states = np.arange(problem.n_pairs) // problem.n_actions
    switched_on = states % len(problem.monitor.states) == problem.monitor.states.index("on")
    return counts, counts[:, switched_on]


def visits_uniformly(results: Results) -> Answer:
    """Least and greatest visit count of Directed, in the median seed."""
    counts, _ = _river_counts(results, "Directed")
    least, greatest = counts.min(1), counts.max(1)
    found = float(np.median(least)), float(np.median(greatest))
    factors = [max(ours, 1.0) / theirs for ours, theirs in zip(found, PAPER_COUNTS, strict=True)]
    factor = max(max(ratio, 1.0 / ratio) for ratio in factors)
    measured = (
        f"{found[0]:,.0f}–{found[1]:,.0f} in the median seed; over seeds {least.min():,.0f}–{least.max():,.0f} and "
        f"{greatest.min():,.0f}–{greatest.max():,.0f}"
    )
    return Answer(measured, f"within a factor of {ABOUT_EXTREME:g}", factor <= ABOUT_EXTREME, ABOUT_EXTREME - factor)


def leaves_unvisited(results: Results, agent: str) -> Answer:
    """In the median seed, many pairs with the monitor on are almost unvisited."""
    counts, switched_on = _river_counts(results, agent)
    few = ALMOST_UNVISITED * float(counts[0].sum())
    unvisited = float(np.median((switched_on < few).mean(1)))
    pairs = switched_on.shape[1]
    least = float(np.median(switched_on.min(1)))
    measured = f"{unvisited * pairs:g} of {pairs} pairs below {few:g} visits, least {least:g}"
    return Answer(measured, f"≥ {MANY * pairs:g}", unvisited >= MANY, unvisited - MANY)


def _deterministic(environment: str) -> bool:
    """Whether every action has one outcome."""
    return bool(np.all(np.diff(make(environment, "Full").environment.offsets) == 1))


DETERMINISTIC = [environment for environment in DEFAULT_STEPS if _deterministic(environment)]
_COSTLY = ["Ask", "Button", "Experts", "Level"]
_RIVER_COMPARISONS = {
    f"{name}: {agent}": (*problem, agent)
    for name, problem in named_problems(["RiverSwim"]).items()
    for agent in BASELINES
}
_COSTLY_COMPARISONS = {
    f"{name}: {agent}": (*problem, agent)
    for name, problem in named_problems(monitors=_COSTLY).items()
    for agent in BASELINES
}
_AGENTS = {agent: (agent,) for agent in BASELINES}

STATEMENTS = (
    Statement(
        "Directed is optimal in the vast majority of seeds of every problem",
        f"at least {VAST_MAJORITY:.0%} of the seeds end within 1e-6 of the optimum, in every problem but RiverSwim's",
        {name: (*problem, "Directed", VAST_MAJORITY) for name, problem in named_problems(GRIDS).items()},
        mostly_solved,
    ),
    Statement(
        "Directed learns in every Mon-MDP",
        "more than half of the seeds end optimal, in every problem but RiverSwim's",
        named_problems(GRIDS),
        learns,
    ),
    Statement(
        "No other agent learns in every Mon-MDP",
        "every baseline has a problem, RiverSwim's aside, in which at most half of its seeds end optimal",
        _AGENTS,
        fails_somewhere,
        noun="baselines",
    ),
    Statement(
        "In RiverSwim, Directed is not significantly worse than any baseline",
        "final returns paired by seed: nowhere a lower mean with a sign-flip p-value of at most "
        f"{SIGNIFICANCE:g}/{len(_RIVER_COMPARISONS)}",
        _RIVER_COMPARISONS,
        not_worse,
        noun="comparisons",
    ),
    Statement(
        "With Full observation and deterministic transitions, Optimism is optimal",
        f"at least {VAST_MAJORITY:.0%} of its seeds end optimal in {', '.join(DETERMINISTIC)}",
        {
            name: (*problem, "Optimism", VAST_MAJORITY)
            for name, problem in named_problems(DETERMINISTIC, ["Full"]).items()
        },
        mostly_solved,
    ),
    Statement(
        "With Random observation, Optimism is no longer optimal",
        f"fewer than {VAST_MAJORITY:.0%} of its seeds end optimal in each of the same environments",
        named_problems(DETERMINISTIC, ["Random"]),
        rarely_solved,
    ),
    Statement(
        "Directed observes about 1/2 of all rewards under Ask",
        f"1/2 of the steps, ± {ABOUT:.0%} of that, on average over seeds in every environment",
        {name: (*problem, 1 / 2) for name, problem in named_problems(monitors=["Ask"]).items()},
        observes,
    ),
    Statement(
        "… about 7,500 of 15,000 in Empty + Ask",
        "6,750 to 8,250 (± 10%)",
        {"Empty + Ask": ("Empty", "Ask", 1 / 2)},
        observes,
    ),
    Statement(
        "Directed observes about 1/4 of all rewards under Experts",
        f"1/4 of the steps, ± {ABOUT:.0%} of that, on average over seeds in every environment",
        {name: (*problem, 1 / 4) for name, problem in named_problems(monitors=["Experts"]).items()},
        observes,
    ),
    Statement(
        "… about 12,500 of 50,000 in Empty + Experts",
        "11,250 to 13,750 (± 10%)",
        {"Empty + Experts": ("Empty", "Experts", 1 / 4)},
        observes,
    ),
    Statement(
        "Directed observes more rewards than any baseline wherever observing costs",
        "with Ask, Button, Experts and Level: 95% interval of the difference, paired by seed, above zero",
        _COSTLY_COMPARISONS,
        observes_more,
        noun="comparisons",
    ),
    Statement(
        "β falls steadily",
        "mean over seeds (infinite counts as 10, as in the paper's figures) lower after each quarter of training "
        "than a quarter before, in every problem",
        named_problems(),
        beta_falls,
    ),
    Statement(
        "β stays above 0.01 within the budget in most cells",
        "at all recorded points of all seeds, in more than half of the problems",
        named_problems(),
        beta_stays_above,
        most,
    ),
    Statement(
        "β falls faster in small problems",
        "at the end of each budget, as the paper's figure shows it: rank correlation of β with the number of pairs at "
        f"least {RANK_CORRELATION:g} with every monitor",
        {monitor: (monitor, False) for monitor in PAPER_MONITORS},
        beta_by_size,
        noun="monitors",
    ),
    Statement(
        "… also after equally many steps",
        f"after the shortest budget of any environment: rank correlation at least {RANK_CORRELATION:g} with every "
        "monitor (ε falls with the budget, so that the same step is early in one problem and late in another)",
        {monitor: (monitor, True) for monitor in PAPER_MONITORS},
        beta_by_size,
        noun="monitors",
    ),
    Statement(
        "RiverSwim + Button, 40,000 steps: Directed's N(s,a) ranges over about 374–3,425",
        f"least and greatest count in the median seed within a factor of {ABOUT_EXTREME:g} of these",
        {"RiverSwim + Button": ()},
        visits_uniformly,
    ),
    Statement(
        "… and the baselines leave many pairs with the monitor on almost unvisited",
        f"at least {MANY:.0%} of these pairs with fewer than {ALMOST_UNVISITED:.1%} of all steps, in the median seed "
        "of every baseline",
        _AGENTS,
        leaves_unvisited,
        noun="baselines",
    ),
)


def _theorem(results: Results) -> Statement:
    """Theorem 1 is about any problem and any number of steps, so about all there are."""
    return Statement(
        "Theorem 1: the fraction of exploring steps is in expectation below (|S||A|·D̄/t)·(log t/β̄ + 1)",
        "mean over seeds below the bound at every point, D̄ that of the fastest possible goal-directed policy, so that "
        "it holds for Directed's own; a bound that never falls below 1 tests nothing",
        {f"{environment} + {monitor}": (environment, monitor) for environment, monitor in results.problems},
        exploring_against_bound,
        where_testable,
        told=told_of_bounds,
    )
