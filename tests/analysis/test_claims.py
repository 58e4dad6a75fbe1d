"""Verdicts on artificial runs that agree with every claim until one thing is changed, and on real runs."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from rich.cells import cell_len

import monmdp
from monmdp.cli import main
from monmdp.paper.claims import STATEMENTS, check_claims
from monmdp.paper.evidence import CONFIRMED, REFUTED, UNKNOWN, every, most, where_testable
from monmdp.paper.presets import preset
from monmdp.paper.theorem import exploring_against_bound, exploring_bound, fastest_diameter, theorem_bound
from monmdp.protocol import DEFAULT_STEPS, PAPER_MONITORS, STEP_FACTOR
from monmdp.study.results import Results
from monmdp.study.sweep import PAPER_AGENTS
from monmdp.training.job import recording_points

problem_named = lru_cache(maxsize=None)(monmdp.make)
VERDICTS = {CONFIRMED, REFUTED, UNKNOWN}
#: Words that identify a claim.
OPTIMAL, LEARNS, ALONE, RIVER = "vast majority", "Directed learns", "No other agent", "not significantly worse"
OPTIMISM, HIDDEN, HALF, QUARTER = "Optimism is optimal", "no longer optimal", "about 1/2", "about 1/4"
EMPTY_ASK, EMPTY_EXPERTS, MORE, FALLS = "7,500", "12,500", "more rewards", "β falls steadily"
ABOVE, SIZE, EQUAL_STEPS, RANGE, UNVISITED = "stays above", "β falls faster", "equally many", "ranges over", "unvisited"


class Made:
    """Runs of a cell as `CellResults` shows them, such that every claim is true."""

    def __init__(self, environment: str, monitor: str, agent: str, seeds: int = 20) -> None:
        self.environment, self.monitor, self.agent = environment, monitor, agent
        steps = DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]
        self.settings = {"steps": steps, "evaluation": "exact", "agent_options": {"beta_bar": 0.01}}
        self.seeds, self.returns = list(range(seeds)), None
        self.steps = recording_points(steps, 20)
        self.problem = problem_named(environment, monitor)
        directed, noise = agent == "Directed", np.linspace(0.99, 1.01, seeds)
        share = {"Ask": 0.5, "Experts": 0.25}.get(monitor, 0.4) * (1.0 if directed else 0.5)
        full = monitor in ("Full", "Random")
        self.solved_share = 0.95 if directed or (full and agent != "Optimism") or monitor == "Full" else 0.3
        with np.errstate(divide="ignore"):
            beta = 3 * self.problem.reachable_pairs.sum() * np.log(self.steps + 2) / self.steps
        self.columns = {
            "observed": np.outer(noise, self.steps * share),
            "beta": np.outer(noise, beta),
            "explored": np.ones((seeds, len(self.steps))),
        }
        counts = np.full((6, 2, 2), 374) if directed else np.full((6, 2, 2), 1_000)
        counts[1, 1, 0] = 3_425
        if not directed:
            counts[:3, 1] = 1  # six of the twelve pairs with the monitor on
        counts[4, 0, 0] += 40_000 - counts.sum() if not directed else 0
        self.visit_counts = [counts.ravel().tolist() for _ in range(seeds)]

    @property
    def solved(self) -> np.ndarray:
        return np.arange(len(self.seeds)) < round(self.solved_share * len(self.seeds))

    @property
    def final_returns(self) -> np.ndarray:
        return np.where(self.solved, 1.0, 0.0) if self.returns is None else np.array(self.returns)

    def curve(self, column: str) -> np.ndarray:
        return self.columns[column]

    def finals(self, columns: list[str]) -> dict[str, np.ndarray]:
        assert columns == ["visit_counts"]
        return {"visit_counts": np.array(self.visit_counts)}


class MadeResults:
    """The paper's 288 cells, made up; Theorem 1 is asked about one problem only."""

    def __init__(self, seeds: int = 20) -> None:
        self.cells = {
            (environment, monitor, agent): Made(environment, monitor, agent, seeds)
            for environment in DEFAULT_STEPS
            for monitor in PAPER_MONITORS
            for agent in PAPER_AGENTS
        }
        self.problems = [("RiverSwim", "Full")]

    def cell(self, *names: str) -> Made | None:
        return self.cells.get(names)


@pytest.fixture
def made() -> MadeResults:
    return MadeResults()


def verdicts(results) -> dict[str, str]:
    return {claim.claim: claim.verdict for claim in check_claims(results)}


def checked(results, words: str):
    """The claim with these words, checked."""
    (statement,) = [statement for statement in STATEMENTS if words in statement.claim]
    return statement.check(results)


def test_all_claims_can_be_confirmed(made):
    judged = verdicts(made)
    assert len(judged) == 18
    assert [claim for claim, verdict in judged.items() if verdict != CONFIRMED] == [list(judged)[-1]]
    assert list(judged.values())[-1] == UNKNOWN, "the bound of Theorem 1 is vacuous after so few steps"


def change(environment, monitor, agent, **what):
    def apply(results):
        cell = results.cells[environment, monitor, agent]
        for name, value in what.items():
            if name in cell.columns:
                cell.columns[name] = value(cell) if callable(value) else cell.columns[name] * value
            else:
                setattr(cell, name, value)

    return apply


def everywhere(agent, **what):
    def apply(results):
        for environment, monitor, other in results.cells:
            if other == agent:
                change(environment, monitor, agent, **what)(results)

    return apply


def rising(cell):
    return np.tile(0.1 + 0.001 * np.arange(len(cell.steps)), (len(cell.seeds), 1))


def low_beta(results):
    """In 24 of 48 problems a single seed comes down to the threshold at a single point."""
    for environment in list(DEFAULT_STEPS)[:4]:
        for monitor in PAPER_MONITORS:
            results.cells[environment, monitor, "Directed"].columns["beta"][3, -2] = 0.01


def large_is_fast(results):
    for monitor in PAPER_MONITORS:
        results.cells["Empty", monitor, "Directed"].columns["beta"] *= 0.05
        results.cells["RiverSwim", monitor, "Directed"].columns["beta"] *= 50


def late_fall(results):
    """RiverSwim's β ends low after it was high for long, so that only the last point is below Empty's."""
    for environment in ("RiverSwim", "Loop", "OneWay"):
        for monitor in PAPER_MONITORS:
            results.cells[environment, monitor, "Directed"].columns["beta"][:, 1:-1] = 20.0


def narrow(results):
    cell = results.cells["RiverSwim", "Button", "Directed"]
    cell.visit_counts = [[1000] * 24 for _ in cell.seeds]


def visited(results):
    cell = results.cells["RiverSwim", "Button", "UCB"]
    cell.visit_counts = [[1000] * 24 for _ in cell.seeds]


@pytest.mark.parametrize(
    ("wrong", "refuted"),
    [
        (change("Empty", "Level", "Directed", solved_share=0.85), {OPTIMAL}),
        (change("Empty", "Level", "Directed", solved_share=0.5), {OPTIMAL, LEARNS}),
        (change("RiverSwim", "Full", "Directed", solved_share=0.0), {RIVER}),
        (everywhere("Naive", solved_share=0.95), {ALONE}),
        (change("Loop", "Full", "Optimism", solved_share=0.85), {OPTIMISM}),
        (change("Hazard", "Full", "Optimism", solved_share=0.0), set()),  # quicksand is not deterministic
        (change("Loop", "Random", "Optimism", solved_share=0.9), {HIDDEN}),
        (change("Loop", "Ask", "Directed", observed=0.89), {HALF}),
        (change("Loop", "Ask", "Directed", observed=1.11), {HALF}),
        (change("Loop", "Ask", "Directed", observed=1.09), set()),
        (change("Empty", "Ask", "Directed", observed=0.85), {HALF, EMPTY_ASK}),
        (change("Empty", "Experts", "Directed", observed=1.15), {QUARTER, EMPTY_EXPERTS}),
        (change("Loop", "Level", "Naive", observed=2.1), {MORE}),
        (change("Loop", "Level", "Naive", observed=2.0), {MORE}),  # as many are not more
        (change("Loop", "Level", "Naive", observed=1.99999), set()),  # a quarter of a reward more
        (change("Loop", "Full", "Naive", observed=2.1), set()),  # observing costs nothing
        (change("Loop", "Ask", "Directed", beta=rising), {FALLS}),
        (low_beta, {ABOVE}),
        (large_is_fast, {SIZE, EQUAL_STEPS}),
        (late_fall, {EQUAL_STEPS, FALLS}),
        (narrow, {RANGE}),
        (visited, {UNVISITED}),
    ],
)
def test_each_claim_can_be_refuted(made, wrong, refuted):
    wrong(made)
    refused = [claim for claim, verdict in verdicts(made).items() if verdict == REFUTED]
    assert len(refused) == len(refuted)
    for words in refuted:
        assert any(words in claim for claim in refused), (words, refused)


def shares(claimed, agent, monitor="Full"):
    """The share of solved seeds of an agent in one problem, or in all of them."""
    if monitor is None:
        return claimed, lambda share: everywhere(agent, solved_share=share)
    return claimed, lambda share: change("Loop", monitor, agent, solved_share=share)


def extreme(place):
    """The least or the greatest of Directed's visit counts."""

    def change_count(count):
        def apply(results):
            counts = np.full(24, 374)
            counts[0] = 3_425
            counts[place] = count
            results.cells["RiverSwim", "Button", "Directed"].visit_counts = [counts.tolist()] * 20

        return apply

    return change_count


def quarters(values):
    """Directed's β at the ends of the quarters of training."""

    def beta(cell):
        curve = cell.columns["beta"].copy()
        curve[:, [5, 10, 15, 20]] = values
        return curve

    return change("Loop", "Ask", "Directed", beta=beta)


def ranks(of_beta):
    """The ranks of Directed's β in the eight environments; the ranks of their sizes are 8, 2, 5, 3, 6, 7, 4, 1."""

    def apply(results, monitor="Ask"):
        for environment, rank in zip(DEFAULT_STEPS, of_beta, strict=True):
            results.cells[environment, monitor, "Directed"].columns["beta"][:] = 0.1 * rank

    return apply


def least_beta(value):
    def apply(results):
        low_beta(results)
        for cell in results.cells.values():
            cell.columns["beta"][cell.columns["beta"] == 0.01] = value

    return apply


def rarely(visits, pairs):
    """Naive's counts of some pairs with the monitor on; 40,000 in total."""

    def apply(results):
        counts = np.full((6, 2, 2), 1_000)
        counts[5 - np.arange(pairs) // 2, 1, np.arange(pairs) % 2] = visits
        counts[4, 0, 0] += 40_000 - counts.sum()
        results.cells["RiverSwim", "Button", "Naive"].visit_counts = [counts.ravel().tolist()] * 20

    return apply


def losses(last_three):
    """Directed loses ten of thirteen seeds by 1; the last three decide how rare such a sum of signs is."""

    def apply(results):
        for agent in PAPER_AGENTS:
            cell = results.cells["RiverSwim", "Ask", agent]
            cell.seeds, cell.returns = list(range(13)), [-1.0] * 10 + last_three if agent == "Directed" else [0.0] * 13

    return apply


@pytest.mark.parametrize(
    ("words", "changed", "inside", "outside"),
    [
        (*shares(OPTIMAL, "Directed"), 0.9, 0.89),
        (*shares(LEARNS, "Directed"), 0.51, 0.5),
        (*shares(ALONE, "Naive", None), 0.5, 0.51),
        (*shares(OPTIMISM, "Optimism"), 0.9, 0.89),
        (*shares(HIDDEN, "Optimism", "Random"), 0.89, 0.9),
        (HALF, lambda share: change("Loop", "Ask", "Directed", observed=share), 0.9001, 0.8999),
        (HALF, lambda share: change("Loop", "Ask", "Directed", observed=share), 1.0999, 1.1001),
        (RANGE, extreme(1), 250, 249),  # 374 / 1.5 is 249.3
        (RANGE, extreme(0), 5_137, 5_138),  # 3,425 · 1.5 is 5,137.5
        (FALLS, quarters, [np.inf, 9.99, 2, 1], [np.inf, 10.01, 2, 1]),
        (ABOVE, least_beta, 0.0101, 0.01),
        (SIZE, ranks, [8, 4, 1, 3, 7, 6, 2, 5], [6, 3, 1, 4, 7, 8, 2, 5]),  # squared distances 42, 44: 0.5, 0.476
        (UNVISITED, lambda visits: rarely(visits, 12), 39, 40),
        (UNVISITED, lambda pairs: rarely(1, pairs), 3, 2),
        (RIVER, losses, [0.3, 0.2, -0.1], [0.3, -0.2, 0.1]),  # 14 and 12 of 8,192 patterns; 0.05 / 30 is 13.7 of them
    ],
)
def test_where_the_bounds_are(words, changed, inside, outside):
    """The numbers of the claims' texts, just kept and just broken."""
    for value, verdict in ((inside, CONFIRMED), (outside, REFUTED)):
        made = MadeResults(seeds=100 if words in (OPTIMAL, LEARNS, ALONE, OPTIMISM, HIDDEN) else 20)
        changed(value)(made)
        assert checked(made, words).verdict == verdict


def test_every_answer_in_words(made):
    """What was measured, and the bound, of the last item of every claim."""
    details = [claim.details[-1] for claim in check_claims(made)[:-1]]
    assert [(detail.about, detail.measured, detail.bound) for detail in details] == [
        ("TwoRoom3x5 + Level", "95%", "≥ 90%"),
        ("TwoRoom3x5 + Level", "95%", "> 50%"),
        ("Naive", "fails in 28 of 42, least 30% in Empty + Ask", "≤ 50% somewhere"),
        ("RiverSwim + Level: Naive", "+0.65 [0.45, 0.85], p = 0.0006", "≥ 0 or p > 0.0017"),
        ("TwoRoom2x11 + Full", "95%", "≥ 90%"),
        ("TwoRoom2x11 + Random", "30%", "< 90%"),
        ("RiverSwim + Ask", "30,000 of 60,000, 50.0%", "27,000–33,000"),
        ("Empty + Ask", "7,500 of 15,000, 50.0%", "6,750–8,250"),
        ("RiverSwim + Experts", "50,000 of 200,000, 25.0%", "45,000–55,000"),
        ("Empty + Experts", "12,500 of 50,000, 25.0%", "11,250–13,750"),
        ("RiverSwim + Level: Naive", "+80,000 [79,767, 80,233]", "interval above 0"),
        ("RiverSwim + Level", "0.05 → 0.026 → 0.018 → 0.014", "falling"),
        ("RiverSwim + Level", "least β 0.01379", "> 0.01"),
        ("Level", "0.62", "≥ 0.5"),
        ("Level", "1.00", "≥ 0.5"),
        (
            "RiverSwim + Button",
            "374–3,425 in the median seed; over seeds 374–374 and 3,425–3,425",
            "within a factor of 1.5",
        ),
        ("Naive", "6 of 12 pairs below 40 visits, least 1", "≥ 3"),
    ]


def test_the_worst_exceptions_are_named_first(made):
    ranks([6, 3, 1, 4, 7, 8, 2, 5])(made, "Button")
    ranks([1] * 8)(made, "Level")
    assert checked(made, SIZE).measured == "4 of 6 monitors; not Level (the same β everywhere), Button (0.48)"


def test_measured_text_names_exceptions(made):
    for environment, share in [("Empty", 0.7), ("Loop", 0.6), ("Hazard", 0.8), ("OneWay", 0.75)]:
        change(environment, "Ask", "Directed", solved_share=share)(made)
    claim = checked(made, OPTIMAL)
    assert claim.measured == "38 of 42 problems; not Loop + Ask (60%), Empty + Ask (70%), OneWay + Ask (75%) and 1 more"
    assert {detail.verdict for detail in claim.details} == {CONFIRMED, REFUTED}
    (loop,) = [detail for detail in claim.details if detail.about == "Loop + Ask"]
    assert (loop.measured, loop.bound, loop.verdict) == ("60%", "≥ 90%", REFUTED)
    assert checked(made, LEARNS).measured == "all 42 problems; closest: Loop + Ask (60%)"
    assert "7,500 of 15,000, 50.0%" in checked(made, EMPTY_ASK).measured


def test_missing_cells_leave_a_claim_open_unless_another_refutes_it(made):
    del made.cells["Loop", "Ask", "Directed"]
    claim = checked(made, OPTIMAL)
    assert claim.verdict == UNKNOWN
    assert "no answer for 1: Loop + Ask (no runs of Directed)" in claim.measured
    change("Empty", "Ask", "Directed", solved_share=0.5)(made)
    claim = checked(made, OPTIMAL)
    assert claim.verdict == REFUTED
    assert "no runs of Directed" in claim.measured


def test_a_missing_cell_does_not_matter_where_most_are_enough(made):
    del made.cells["Loop", "Ask", "Directed"]
    assert checked(made, ABOVE).verdict == CONFIRMED
    for environment in ("Empty", "Hazard", "Corridor", "OneWay"):
        for monitor in PAPER_MONITORS:
            del made.cells[environment, monitor, "Directed"]
    assert checked(made, ABOVE).verdict == UNKNOWN


def test_a_baseline_that_fails_once_needs_no_other_cell(made):
    del made.cells["Loop", "Ask", "Naive"]
    assert checked(made, ALONE).verdict == CONFIRMED
    everywhere("Naive", solved_share=1.0)(made)
    claim = checked(made, ALONE)
    assert claim.verdict == UNKNOWN
    assert "Loop + Ask: no runs of Naive" in claim.measured


def test_a_missing_agent(made):
    for names in list(made.cells):
        if names[2] == "Directed":
            del made.cells[names]
    claims = {claim.claim: claim for claim in check_claims(made)}
    confirmed = [claim for claim, result in claims.items() if result.verdict == CONFIRMED]
    assert len(confirmed) == 4, "claims about baselines alone"
    for claim, result in claims.items():
        if claim not in confirmed:
            assert result.verdict == UNKNOWN
            assert "no runs of Directed" in result.measured


def test_too_few_seeds():
    claims = check_claims(MadeResults(seeds=4))
    assert {claim.verdict for claim in claims} == {UNKNOWN}
    assert "4 seeds of Directed, at least 5 needed" in claims[0].measured


def test_comparisons_need_enough_seeds_to_be_significant():
    """With ten seeds no pattern of signs is as rare as 0.05/30."""
    few, enough = checked(MadeResults(seeds=10), RIVER), checked(MadeResults(seeds=11), RIVER)
    assert (few.verdict, enough.verdict) == (UNKNOWN, CONFIRMED)
    results = MadeResults(seeds=11)
    change("RiverSwim", "Ask", "Directed", solved_share=0.0)(results)
    change("RiverSwim", "Ask", "Naive", solved_share=1.0)(results)
    assert checked(results, RIVER).verdict == REFUTED


def test_comparisons_use_common_seeds_only(made):
    made.cells["RiverSwim", "Ask", "Naive"].seeds = list(range(15, 35))
    claim = checked(made, RIVER)
    assert claim.verdict == UNKNOWN
    assert "RiverSwim + Ask: Naive (5 seeds in common" in claim.measured


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [("steps", 300, "trained for 300 steps, the paper for 15,000"), ("evaluation", "none", "not evaluated exactly")],
)
def test_runs_of_another_kind_do_not_count(made, setting, value, why):
    made.cells["Empty", "Ask", "Directed"].settings[setting] = value
    claim = checked(made, OPTIMAL)
    assert claim.verdict == UNKNOWN
    assert why in claim.measured


def test_a_problem_that_is_not_the_papers(made):
    made.cells["Empty", "Ask", "Directed"].problem = None
    assert checked(made, HALF).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("counts", "of_every", "of_most", "of_testable"),
    [
        ((3, 0, 0), CONFIRMED, CONFIRMED, CONFIRMED),
        ((2, 1, 0), REFUTED, CONFIRMED, REFUTED),
        ((2, 0, 1), UNKNOWN, CONFIRMED, CONFIRMED),
        ((1, 1, 0), REFUTED, REFUTED, REFUTED),
        ((1, 0, 1), UNKNOWN, UNKNOWN, CONFIRMED),
        ((0, 0, 2), UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
def test_how_answers_add_up(counts, of_every, of_most, of_testable):
    assert (every(*counts), most(*counts), where_testable(*counts)) == (of_every, of_most, of_testable)


def test_bound_of_theorem_1_by_hand():
    """10 pairs · D̄ 5 / 100 · (log 100 / 0.5 + 1) = 0.5 · (9.2103 + 1)."""
    assert exploring_bound(np.array([100]), 10, 5.0, 0.5) == pytest.approx([5.105170186])


def shortest_paths(problem):
    """Goal → a policy that goes the shortest way to its state and takes its action, by value iteration."""
    matrix = np.zeros((problem.n_pairs, problem.n_states))
    goes_on = ~problem.terminated
    np.add.at(matrix, (problem.pair_of_outcome[goes_on], problem.next_state[goes_on]), problem.probability[goes_on])
    matrix += np.outer(1.0 - matrix.sum(1), problem.start)

    def policy(goal):
        times = np.zeros(problem.n_states)
        for _ in range(2_000):
            ahead = 1.0 + matrix @ times
            ahead[goal] = 1.0
            times = ahead.reshape(problem.n_states, -1).min(1)
        best = ahead.reshape(problem.n_states, -1).argmin(1)
        return np.eye(problem.n_actions)[best]

    return policy


@pytest.mark.parametrize(("environment", "monitor"), [("Loop", "Full"), ("Loop", "Ask"), ("RiverSwim", "Full")])
def test_no_policy_has_a_smaller_diameter_than_the_fastest(environment, monitor):
    problem = monmdp.make(environment, monitor)
    reached = monmdp.goal_relative_diameter(problem, shortest_paths(problem)).max()
    assert reached == pytest.approx(fastest_diameter(problem), rel=0.01)
    assert reached >= fastest_diameter(problem) - 1e-9


WALK = "Directed(random_goal_policy=True)"


class Long(Made):
    """A variant of Directed in Loop + Full for a long time, exploring a fraction of its bound; two seeds differ."""

    def __init__(self, agent: str, factor: float, steps: int, spread: float = 0.0) -> None:
        super().__init__("Loop", "Full", "Directed")
        self.steps = recording_points(steps, 100)
        self.settings["agent_options"]["random_goal_policy"] = agent == WALK
        explored = np.append(0.0, np.minimum(exploring_bound(self.steps[1:], 45, LONGEST[agent], 0.01) * factor, 1.0))
        self.columns["explored"] = np.outer(1.0 + spread * np.resize([-1, 1], len(self.seeds)), explored)


#: D̄ of the fastest policy, and that of a random walk.
LONGEST = {"Directed": 13.0, WALK: 1142.0}


class OneProblem:
    problems = (("Loop", "Full"),)

    def __init__(self, cell, agent="Directed") -> None:
        self.cells = {("Loop", "Full", agent): cell, ("Loop", "Full", "DirectedModel"): None}

    def cell(self, *names):
        return self.cells.get(names)


@pytest.mark.parametrize(
    ("agent", "factor", "spread", "verdict", "words"),
    [
        ("Directed", 0.9, 0.0, CONFIRMED, "bound 0.094"),
        ("Directed", 1.5, 0.0, UNKNOWN, "above the bound of the fastest ρ, 0.0943, not of its own"),
        (WALK, 0.9, 0.0, CONFIRMED, "of 300,000,000 steps exploring, bound 0.33"),
        (WALK, 0.9, 0.5, UNKNOWN, "above the bound of the random walk"),
        (WALK, 1.5, 0.0, REFUTED, "above the bound of the random walk"),
    ],
)
def test_theorem_1_where_its_bound_is_below_1(agent, factor, spread, verdict, words):
    """A mean above the fastest policy's bound refutes nothing; above its own, it does, if its interval is, too."""
    steps = 300_000_000 if agent == WALK else 10_000_000
    results = OneProblem(Long(agent, factor, steps, spread), agent)
    answer = exploring_against_bound(results, "Loop", "Full", agent)
    assert answer.verdict == verdict
    assert words in answer.measured
    assert answer.bound.startswith("random walk: D̄ = 1142," if agent == WALK else "fastest ρ: D̄ = 13,")
    claim = check_claims(results)[-1]
    assert claim.verdict == verdict
    assert [row.about for row in claim.details] == ["Loop + Full" + (f", {agent}" if agent == WALK else "")]
    assert "(is below 1, at some point) in 1;" in claim.measured


def test_theorem_1_without_a_step_limit():
    """A ring of three rooms without ends: two steps to the farthest one, and one that takes the goal's action."""
    ring = monmdp.Rule(
        states=range(3), actions=("go", "stay"), rule=lambda s, a: [monmdp.Step((s + (a == "go")) % 3)], step_limit=None
    )
    options = {"agent_options": {"beta_bar": 0.5}}
    bound = theorem_bound(SimpleNamespace(problem=monmdp.make(ring), settings=options, steps=np.array([0, 50])))
    assert bound.longest == pytest.approx(3.0)
    assert bound.values == pytest.approx([math.inf, 6 * 3 / 50 * (math.log(50) / 0.5 + 1)])


def test_theorem_1_holds_in_runs_that_meet_its_conditions(tmp_path):
    """10 pairs, a random walk to the goal with D̄ = 21, β̄ = 0.1: 10 · 21 / 100,000 · (log 100,000 / 0.1 + 1) = 0.244."""
    walk = "Directed(beta_bar=0.1, random_goal_policy=True)"
    monmdp.run_sweep([monmdp.Sweep(["Empty(rows=1, columns=2)"], ["Full"], [walk], 5, steps=100_000)], tmp_path)
    claim = check_claims(Results(tmp_path))[-1]
    assert claim.verdict == CONFIRMED
    assert claim.details[0].bound == "random walk: D̄ = 21, bound 0.244 at the end"


def test_the_preset_has_bounds_below_1():
    """Not for the random walk in RiverSwim, where it takes more than 1,000 steps to the last state."""
    cell = Made("Loop", "Full", "Directed")
    for job in preset("theorem").jobs():
        cell.problem, cell.steps = job.problem, job.point_steps
        cell.settings = {"agent_options": dataclasses.asdict(job.agent)}
        bound, walks = theorem_bound(cell), job.agent.random_goal_policy
        assert bound.exact == walks
        assert (bound.values[-1] < 0.6) == (not walks or "RiverSwim" not in job.problem.name)


def test_a_vacuous_bound_confirms_nothing(made):
    """5,000 steps, 45 pairs and D̄ = 13: 45 · 13 / 5000 · (log 5000 / 0.01 + 1) = 99.8."""
    answer = exploring_against_bound(OneProblem(made.cells["Loop", "Full", "Directed"]), "Loop", "Full")
    assert answer.verdict == UNKNOWN
    assert answer.measured == "100% of 5,000 steps exploring, bound never below 99.8"


def test_an_infinite_diameter_is_shown(made, monkeypatch):
    monkeypatch.setattr("monmdp.paper.theorem.diameter", lambda problem: math.inf)
    answer = exploring_against_bound(OneProblem(made.cells["Loop", "Full", "Directed"]), "Loop", "Full")
    assert answer.verdict == UNKNOWN
    assert "D̄ = inf, bound inf" in answer.bound


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    sweep = monmdp.Sweep(["Loop"], ["Full", "Ask"], ["Directed", "Optimism"], seeds=6, points=20)
    monmdp.run_sweep([sweep], folder)
    return folder


def test_real_runs(folder):
    curves = monmdp.train(monmdp.make("Loop", "Ask"), "Directed", 6, points=20)
    results = Results(folder)
    claims = check_claims(results)
    assert {claim.verdict for claim in claims} == {UNKNOWN}
    details = {(claim.claim, row.about): row for claim in claims for row in claim.details}
    (half,) = [claim for claim in claims if HALF in claim.claim]
    mean = curves.observed[:, -1].mean()
    row = details[half.claim, "Loop + Ask"]
    assert (row.measured, row.verdict) == (f"{mean:,.0f} of 15,000, {mean / 15_000:.1%}", CONFIRMED)
    row = details[claims[0].claim, "Loop + Ask"]
    assert row.measured == f"{curves.solved.mean():.0%}"
    assert "7 of 8 problems" not in half.measured
    assert "no answer for 7: Empty + Ask (no runs of Directed)" in half.measured
    theorem = {row.about: row for row in claims[-1].details}
    assert theorem.keys() == {"Loop + Full", "Loop + Ask"}
    assert f"{curves.explored[:, -1].mean():.0%} of 15,000 steps" in theorem["Loop + Ask"].measured


def run(capsys, *words: str) -> str:
    assert main(["claims", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_the_command_prints_and_writes_a_table(folder, tmp_path, capsys, monkeypatch):
    out = run(capsys, folder, "--out", tmp_path / "new" / "claims.md")
    assert out.splitlines()[:2] == [
        "These runs are not enough to check any of the paper's 18 claims.",
        f"17 claims need more runs: monmdp reproduce --preset paper --out {folder}",
    ]
    assert f"Written to {tmp_path / 'new' / 'claims.md'}." in out
    lines = (tmp_path / "new" / "claims.md").read_text().splitlines()
    assert lines[:2] == ["| claim | expected | measured | verdict |", "|---|---|---|---|"]
    assert len(lines) == 2 + 18
    for line in lines:
        assert line.replace(r"\|", "").count("|") == 5


def test_the_table_is_written_into_the_results_folder_by_default(folder, capsys):
    assert f"Written to {folder / 'claims.md'}." in run(capsys, folder)
    assert (folder / "claims.md").read_text().startswith("| claim |")
    assert main(["results", str(folder), "--verify"]) == 0, "the folder is still valid"


def test_as_csv(folder, tmp_path, capsys):
    run(capsys, folder, "--out", tmp_path / "claims.csv")
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text().splitlines()))
    claims = check_claims(Results(folder))
    assert [(row["claim"], row["measured"], row["verdict"]) for row in rows] == [
        (claim.claim, claim.measured, claim.verdict) for claim in claims
    ]
    run(capsys, folder, "--out", tmp_path / "claims.csv", "--details")
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text().splitlines()))
    assert len(rows) == sum(len(claim.details) for claim in claims)
    assert {row["verdict"] for row in rows} <= VERDICTS


def test_as_json(folder, tmp_path, capsys):
    output = json.loads(run(capsys, folder, "--json", "--out", tmp_path / "claims.md"))
    assert (output["confirmed"], output["not confirmed"], output["not enough data"]) == (0, 0, 18)
    for claim in output["claims"]:
        assert claim.keys() == {"claim", "expected", "measured", "verdict", "details"}
        for row in claim["details"]:
            assert row.keys() == {"about", "measured", "bound", "verdict"}


def test_details(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    out = run(capsys, folder, "--details", "--out", tmp_path / "claims.md")
    assert "fastest ρ: D̄ = 13" in out
    assert "fastest ρ: D̄ = 13" in (tmp_path / "claims.md").read_text()
    assert "fastest ρ: D̄ = 13" not in run(capsys, folder, "--out", tmp_path / "claims.md")


def test_one_line_per_claim_and_a_verdict(made, folder, tmp_path, capsys, monkeypatch):
    """Claims that the runs cannot check are counted: here those that need Loop + Ask, and the vacuous bound."""
    change("Empty", "Level", "Directed", solved_share=0.85)(made)
    del made.cells["Loop", "Ask", "Directed"]
    judged = check_claims(made)
    monkeypatch.setattr("monmdp.paper.claims.check_claims", lambda results: judged)
    monkeypatch.setenv("COLUMNS", "80")
    words = (folder, "--out", tmp_path / "claims.md")
    out = run(capsys, *words).splitlines()
    shown = {int(line.split()[0]): line for line in out if line[:2].strip().isdecimal() and "confirmed" in line}
    counts = {verdict: sum(claim.verdict == verdict for claim in judged) for verdict in VERDICTS}
    assert all(cell_len(line) <= 80 for line in shown.values())
    assert len(shown) == counts[CONFIRMED] + counts[REFUTED]
    for number, line in shown.items():
        assert line.split(maxsplit=1)[1].rstrip() in (
            f"{judged[number - 1].verdict.ljust(len(REFUTED))}  {judged[number - 1].claim}",
        )
    assert f"{counts[CONFIRMED]} of {counts[CONFIRMED] + counts[REFUTED]} claims that these runs can check hold." in out
    assert f"{counts[UNKNOWN] - 1} claims need more runs: monmdp reproduce --preset paper --out {folder}" in out
    assert "1 claim without an answer; for the reason: --claim 18" in out
    for name in ("1", "VAST majority"):
        (detail,) = [line for line in run(capsys, *words, "--claim", name).splitlines() if "Empty + Level  " in line]
        assert detail.split()[3:] == ["85%", "≥", "90%", "not", "confirmed"]


def test_bad_input_is_one_line(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for words, sentence in [
        ([tmp_path], "not a results folder"),
        ([tmp_path / "nowhere"], "nowhere"),
        ([folder, "--out", tmp_path / "claims.pdf"], ".md or .csv"),
        ([folder, "--claim", "19"], "a number from 1 to 18"),
        ([folder, "--out", tmp_path / "file" / "claims.md"], "cannot be written"),
    ]:
        assert main(["claims", *map(str, words)]) == 2
        complaint = capsys.readouterr().err
        assert complaint.count("\n") == 1, complaint
        assert sentence in complaint
