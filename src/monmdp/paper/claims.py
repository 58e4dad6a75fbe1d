"""The paper's claims, each as a statement that data can confirm or refute.

Words such as "vast majority" and "about" become numbers here; `expected` states them.
"""

import numpy as np

from monmdp.errors import plural
from monmdp.join import make
from monmdp.paper import evidence
from monmdp.paper.evidence import Claim, Detail, Items, MissingError, Statement, answer, evaluated, problems, runs_of
from monmdp.paper.theorem import exploring_against_bound, summary_of_bounds
from monmdp.problem import Floats
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, STEP_FACTOR, kind
from monmdp.statistics import mean_interval, paired_difference
from monmdp.study.results import CellResults, Results

BASELINES = {agent: (agent,) for agent in PAPER_AGENTS[1:]}
GRIDS = [environment for environment in DEFAULT_STEPS if environment != "RiverSwim"]
#: "The vast majority of seeds"; learning at all is ending optimal in more than half of them.
VAST_MAJORITY = 0.9
HALF = 0.5
#: "About", of a ratio or a number of observed rewards, and of the extremes of a single run.
ABOUT = 0.1
ABOUT_EXTREME = 1.5
#: Chance of a wrong "significantly worse" among all comparisons in RiverSwim together.
SIGNIFICANCE = 0.05
#: Infinite β is shown as this value in the paper's figures.
INFINITE_BETA = 10.0
THRESHOLD = 0.01
#: Rank correlation from which on β counts as falling with the size of the problem.
RANK_CORRELATION = 0.5
#: A pair is almost unvisited below this fraction of all steps; "many" are this fraction of pairs.
ALMOST_UNVISITED = 0.001
MANY = 0.25
PAPER_COUNTS = (374, 3_425)


def check_claims(results: Results) -> list[Claim]:
    """Every claim of the paper that a reproduction can check, with the verdict of the runs of a folder."""
    return [statement.check(results) for statement in (*STATEMENTS, _theorem(results))]


def _solved(results: Results, environment: str, monitor: str, agent: str) -> float:
    """Fraction of seeds that end optimal."""
    return float(evaluated(runs_of(results, environment, monitor, agent)).solved.mean())


def solves(results: Results, environment: str, monitor: str, agent: str, sign: str, bound: float) -> Detail:
    """The fraction of seeds that end optimal is above or below a bound."""
    solved = _solved(results, environment, monitor, agent)
    margin = bound - solved if sign == "<" else solved - bound
    return answer(f"{solved:.0%}", f"{sign} {bound:.0%}", margin > 0 or (sign == "≥" and margin == 0), margin)


def fails_somewhere(results: Results, agent: str) -> Detail:
    """There is a problem in which at most half of an agent's seeds end optimal."""
    fractions, missing = {}, []
    for name, (environment, monitor) in problems(GRIDS).items():
        try:
            fractions[name] = _solved(results, environment, monitor, agent)
        except MissingError as reason:
            missing.append(f"{name}: {reason}")
    failed = [name for name, solved in fractions.items() if solved <= HALF]
    if missing and not failed:
        raise MissingError(f"no answer in {plural(len(missing), 'problem')}, such as {missing[0]}")
    worst = min(fractions, key=lambda name: fractions[name])
    measured = f"fails in {len(failed)} of {len(fractions)}, least {fractions[worst]:.0%} in {worst}"
    return answer(measured, f"≤ {HALF:.0%} somewhere", bool(failed), HALF - fractions[worst])


def not_worse(results: Results, environment: str, monitor: str, agent: str) -> Detail:
    """Paired by seed, Directed's final return is not significantly below a baseline's."""
    level = SIGNIFICANCE / len(_RIVER_COMPARISONS)
    seeds = int(np.ceil(np.log2(2.0 / level)))  # with fewer, no pattern of signs could be significant
    returns = evidence.against(results, environment, monitor, agent, lambda cell: evaluated(cell).final_returns, seeds)
    estimate, low, high, p_value = paired_difference(*returns)
    measured = f"{estimate:+.3g} [{low:.3g}, {high:.3g}], p = {p_value:.2g}"
    return answer(measured, f"≥ 0 or p > {level:.2g}", estimate >= 0 or p_value > level, estimate)


def _observed(cell: CellResults) -> Floats:
    """Rewards observed in the whole run, [seed]."""
    return cell.curve("observed")[:, -1].astype(np.float64)


def observes(results: Results, environment: str, monitor: str, share: float) -> Detail:
    """Directed observes about this share of all rewards."""
    cell = runs_of(results, environment, monitor, "Directed")
    steps, observed = cell.settings["steps"], float(_observed(cell).mean())
    deviation = abs(observed / steps / share - 1.0)
    measured = f"{observed:,.0f} of {steps:,}, {observed / steps:.1%}"
    bound = f"{share * (1 - ABOUT) * steps:,.0f}–{share * (1 + ABOUT) * steps:,.0f}"
    return answer(measured, bound, deviation <= ABOUT, ABOUT - deviation)


def observes_more(results: Results, environment: str, monitor: str, agent: str) -> Detail:
    """Paired by seed, Directed observes more rewards than a baseline."""
    ours, theirs = evidence.against(results, environment, monitor, agent, _observed, evidence.LEAST_SEEDS)
    mean, low, high = mean_interval(ours - theirs)
    steps = DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]
    return answer(f"{mean:+,.0f} [{low:,.0f}, {high:,.0f}]", "interval above 0", low > 0, low / steps)


def _mean_beta(cell: CellResults) -> Floats:
    """Mean over seeds, [point]."""
    beta: Floats = np.minimum(cell.curve("beta"), INFINITE_BETA).mean(0)
    return beta


def beta_falls(results: Results, environment: str, monitor: str) -> Detail:
    """β is lower at the end of each quarter of training than a quarter before."""
    cell = runs_of(results, environment, monitor, "Directed")
    quarters = np.searchsorted(cell.steps, [cell.settings["steps"] * k / 4 for k in range(1, 5)])
    beta = _mean_beta(cell)[quarters]
    falls = float((beta[:-1] / beta[1:]).min())
    return answer(" → ".join(f"{value:.2g}" for value in beta), "falling", falls > 1.0, falls - 1.0)


def beta_stays_above(results: Results, environment: str, monitor: str) -> Detail:
    """No seed's β falls to the threshold."""
    least = float(runs_of(results, environment, monitor, "Directed").curve("beta").min())
    return answer(f"least β {least:.4g}", f"> {THRESHOLD:g}", least > THRESHOLD, least - THRESHOLD)


def beta_by_size(results: Results, monitor: str, equal_steps: bool) -> Detail:
    """β is lower in problems with fewer pairs, after the same number of steps or at the end of each budget."""
    from scipy.stats import spearmanr

    cells = [runs_of(results, environment, monitor, "Directed") for environment in DEFAULT_STEPS]
    steps = min(DEFAULT_STEPS.values()) * STEP_FACTOR[monitor]
    beta = [_mean_beta(cell)[np.searchsorted(cell.steps, steps) if equal_steps else -1] for cell in cells]
    if np.ptp(beta) == 0.0:
        return answer("the same β everywhere", "", False, -1.0)
    correlation = float(spearmanr([evidence.problem_of(cell).reachable_pairs.sum() for cell in cells], beta).statistic)
    margin = correlation - RANK_CORRELATION
    return answer(f"{correlation:.2f}", f"≥ {RANK_CORRELATION:g}", margin >= 0, margin)


def _river_counts(results: Results, agent: str) -> tuple[Floats, Floats]:
    """Visit counts in RiverSwim + Button of all pairs, and of those with the monitor on, [seed, pairs] each."""
    cell = runs_of(results, "RiverSwim", "Button", agent)
    problem = evidence.problem_of(cell)
    counts = cell.finals(["visit_counts"])["visit_counts"].astype(np.float64)
    states = np.arange(problem.n_pairs) // problem.n_actions
    switched_on = states % len(problem.monitor.states) == problem.monitor.states.index("on")
    return counts, counts[:, switched_on]


def visits_uniformly(results: Results) -> Detail:
    """Least and greatest visit count of Directed, in the median seed."""
    counts, _ = _river_counts(results, "Directed")
    least, greatest = counts.min(1), counts.max(1)
    medians = np.median([least, greatest], axis=1)
    factor = float(np.exp(np.abs(np.log(np.maximum(medians, 1.0) / PAPER_COUNTS)).max()))
    measured = (
        f"{medians[0]:,.0f}–{medians[1]:,.0f} in the median seed; over seeds {least.min():,.0f}–{least.max():,.0f} and "
        f"{greatest.min():,.0f}–{greatest.max():,.0f}"
    )
    return answer(measured, f"within a factor of {ABOUT_EXTREME:g}", factor <= ABOUT_EXTREME, ABOUT_EXTREME - factor)


def leaves_unvisited(results: Results, agent: str) -> Detail:
    """In the median seed, many pairs with the monitor on are almost unvisited."""
    counts, switched_on = _river_counts(results, agent)
    few = ALMOST_UNVISITED * float(counts[0].sum())
    unvisited, least = float(np.median((switched_on < few).mean(1))), float(np.median(switched_on.min(1)))
    pairs = switched_on.shape[1]
    measured = f"{unvisited * pairs:g} of {pairs} pairs below {few:g} visits, least {least:g}"
    return answer(measured, f"≥ {MANY * pairs:g}", unvisited >= MANY, unvisited - MANY)


#: Environments in which every action has one outcome.
DETERMINISTIC = [
    environment for environment in DEFAULT_STEPS if np.all(np.diff(make(environment, "Full").environment.offsets) == 1)
]


def _comparisons(items: Items) -> Items:
    """Problems × baselines."""
    return {f"{name}: {agent}": (*problem, agent) for name, problem in items.items() for agent in BASELINES}


def _observing(monitor: str, divisor: int, example: str, bounds: str) -> list[Statement]:
    """Directed observes 1/divisor of all rewards with a monitor, in every environment and in the paper's example."""
    items, empty = problems(None, [monitor], 1 / divisor), problems(["Empty"], [monitor], 1 / divisor)
    claim = f"Directed observes about 1/{divisor} of all rewards under {monitor}"
    expected = f"1/{divisor} of the steps, ± {ABOUT:.0%} of that, on average over seeds in every environment"
    return [
        Statement(claim, expected, items, observes),
        Statement(f"Directed observes about {example} in Empty + {monitor}", f"{bounds} (± 10%)", empty, observes),
    ]


_RIVER_COMPARISONS = _comparisons(problems(["RiverSwim"]))

STATEMENTS = (
    Statement(
        "Directed is optimal in the vast majority of seeds everywhere",
        f"at least {VAST_MAJORITY:.0%} of the seeds end within 1e-6 of the optimum, in every problem but RiverSwim's",
        problems(GRIDS, None, "Directed", "≥", VAST_MAJORITY),
        solves,
    ),
    Statement(
        "Directed learns in every Mon-MDP",
        "more than half of the seeds end optimal, in every problem but RiverSwim's",
        problems(GRIDS, None, "Directed", ">", HALF),
        solves,
    ),
    Statement(
        "No other agent learns in every Mon-MDP",
        "every baseline has a problem, RiverSwim's aside, in which at most half of its seeds end optimal",
        BASELINES,
        fails_somewhere,
        noun="baselines",
    ),
    Statement(
        "In RiverSwim, Directed is not significantly worse than others",
        "final returns paired by seed: nowhere a lower mean with a sign-flip p-value of at most "
        f"{SIGNIFICANCE:g}/{len(_RIVER_COMPARISONS)}",
        _RIVER_COMPARISONS,
        not_worse,
        noun="comparisons",
    ),
    Statement(
        "With Full and deterministic transitions, Optimism is optimal",
        f"at least {VAST_MAJORITY:.0%} of its seeds end optimal in {', '.join(DETERMINISTIC)}",
        problems(DETERMINISTIC, ["Full"], "Optimism", "≥", VAST_MAJORITY),
        solves,
    ),
    Statement(
        "With Random, Optimism is no longer optimal",
        f"fewer than {VAST_MAJORITY:.0%} of its seeds end optimal in each of the same environments",
        problems(DETERMINISTIC, ["Random"], "Optimism", "<", VAST_MAJORITY),
        solves,
    ),
    *_observing("Ask", 2, "7,500 of 15,000", "6,750 to 8,250"),
    *_observing("Experts", 4, "12,500 of 50,000", "11,250 to 13,750"),
    Statement(
        "Directed observes more rewards than others if observing costs",
        "with Ask, Button, Experts and Level: 95% interval of the difference, paired by seed, above zero",
        _comparisons(problems(None, ["Ask", "Button", "Experts", "Level"])),
        observes_more,
        noun="comparisons",
    ),
    Statement(
        "β falls steadily",
        "mean over seeds (infinite counts as 10, as in the paper's figures) lower after each quarter of training "
        "than a quarter before, in every problem",
        problems(),
        beta_falls,
    ),
    Statement(
        "β stays above 0.01 within the budget in most cells",
        "at all recorded points of all seeds, in more than half of the problems",
        problems(),
        beta_stays_above,
        evidence.most,
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
        "After equally many steps, β is also lower in small problems",
        f"after the shortest budget of any environment: rank correlation at least {RANK_CORRELATION:g} with every "
        "monitor (ε falls with the budget, so that the same step is early in one problem and late in another)",
        {monitor: (monitor, True) for monitor in PAPER_MONITORS},
        beta_by_size,
        noun="monitors",
    ),
    Statement(
        "In RiverSwim + Button, N(s,a) ranges over about 374–3,425",
        f"Directed's least and greatest count after 40,000 steps within a factor of {ABOUT_EXTREME:g} of these, in the "
        "median seed",
        {"RiverSwim + Button": ()},
        visits_uniformly,
    ),
    Statement(
        "In RiverSwim + Button, baselines leave pairs almost unvisited",
        f"at least {MANY:.0%} of the pairs with the monitor on have fewer than {ALMOST_UNVISITED:.1%} of all visits, "
        "in the median seed of every baseline",
        BASELINES,
        leaves_unvisited,
        noun="baselines",
    ),
)


def _theorem(results: Results) -> Statement:
    """Theorem 1, about every variant of Directed in all problems of a folder, with any number of steps."""
    items = {}
    for problem in results.problems:
        agents = [agent for *names, agent in results.cells if tuple(names) == problem and kind(agent) == "Directed"]
        for agent in agents or ["Directed"]:
            items[" + ".join(problem) + (f", {agent}" if agent != "Directed" else "")] = (*problem, agent)
    return Statement(
        "Theorem 1: the fraction of exploring steps is below its bound",
        "mean over seeds and its 95% interval below (|S||A|·D̄/t)·(log t/β̄ + 1) at every point t, D̄ that of the policy "
        "toward goals if it is a random walk, else that of the fastest possible one, so that it holds for Directed's "
        "own; a bound that never falls below 1 tests nothing (the preset theorem has bounds that do)",
        items,
        exploring_against_bound,
        evidence.where_testable,
        noun="cases",
        summary=summary_of_bounds,
    )
