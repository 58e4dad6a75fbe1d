"""Figures: their files, numbers that agree with the results, and texts that neither overlap nor are cut."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from functools import partial

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from PIL import Image
from pyarrow import parquet
from pyarrow.csv import read_csv
from scipy import stats

import monmdp
from monmdp.cli import main
from monmdp.environments import Rule
from monmdp.figures import FIGURES, default_problem, draw_figure, draw_figures
from monmdp.figures.curves import NOT_RECORDED, SHOWN_POINTS, return_limits, shown_points
from monmdp.figures.data import FigureData
from monmdp.figures.style import KNOWN, PALE, agent_styles, number, styled, wrapped
from monmdp.simulation import Simulation
from monmdp.study.results import Results
from monmdp.study.store import Store, read_entry, write_parquet
from monmdp.study.sweep import PAPER_AGENTS
from monmdp.tables import csv_text

#: A name with characters that are special in formulas, HTML, markup and shells.
ODD = "my_$x^2$ <b>env</b> & [red] %d"
TWO_AGENTS = ["Directed", "Naive"]
#: Figures that need variants.
SENSITIVITY = ["sensitivity", "sensitivity-solved"]
#: One figure for each way to draw; the others show other numbers in the same way.
LAYOUTS = (
    "returns-all", "returns-observed", "exploring", "beta-run", "visits", "environments", "solved", "sensitivity",
    "solving", "profiles-monitors", "aggregates", "improvement",
)  # fmt: skip


def walk(state, action):
    place = min(max(state + (1 if action == "RIGHT" else -1), 0), 3)
    yield monmdp.Step(place, float(state == 3 and action == "RIGHT"), terminated=state == 3 and action == "RIGHT")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two agents in five problems of 3 environments and 2 monitors, and one in a sixth."""
    folder = tmp_path_factory.mktemp("results")
    sweeps = [
        monmdp.Sweep(["RiverSwim", "Loop"], ["Button", "Ask"], TWO_AGENTS, seeds=4, steps=2000, points=40),
        monmdp.Sweep(["Walk"], ["Button"], ["Directed"], seeds=4, steps=2000, points=40),
    ]
    monmdp.run_sweep(sweeps, folder)
    return folder


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Twelve variants of one agent in two problems."""
    folder = tmp_path_factory.mktemp("variants")
    agents = [f"Naive(alpha={alpha}, initial_q={q})" for alpha in (0.05, 0.1, 0.5, 1.0) for q in (-1.0, 1.0, 5.0)]
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full", "Ask"], agents, seeds=3, steps=1000, points=10)], folder)
    return folder


@pytest.fixture(scope="module")
def drawn(folder, variants, tmp_path_factory):
    """Every figure of these folders: name → its PDF, PNG and CSV."""
    out = tmp_path_factory.mktemp("figures")
    own = [name for name in FIGURES if name not in SENSITIVITY]
    return dict(draw_figures(own, Results(folder), out)) | dict(draw_figures(SENSITIVITY, Results(variants), out))


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory):
    """Long and strange names, problems that cannot be built again, a single seed, and many gaps."""
    folder = tmp_path_factory.mktemp("odd")
    environment = Rule(states=range(4), actions=("LEFT", "RIGHT"), rule=walk, title=ODD, step_limit=20)
    agents = ["Naive(epsilon=(0.5, 0.0), initial_q=-10.0)", "Directed(beta_bar=0.1)"]
    sweeps = [
        monmdp.Sweep([environment, "Empty(rows=3, columns=4)"], ["Ask(cost=0.5)"], agents, 2, steps=200, points=10),
        monmdp.Sweep(["FrozenLake-v1"], ["FullRandom(rho=0.25)"], [*agents, "Optimism"], 1, steps=200, points=10),
    ]
    monmdp.run_sweep(sweeps, folder)
    return folder


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """One agent without β, one seed, one problem."""
    folder = tmp_path_factory.mktemp("single")
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], 1, steps=200, points=10)], folder)
    return folder


def table(drawn, name: str) -> pd.DataFrame:
    """The numbers beside a figure, to the last bit."""
    return read_csv(drawn[name][2]).to_pandas()


def runs(folder, kind: str = "curves") -> pd.DataFrame:
    """The results as a data frame."""
    frame = monmdp.load(folder, kind=kind).to_pandas()
    for column in ("environment", "monitor", "agent"):
        frame[column] = frame[column].astype(str)
    return frame


KEYS = ["environment", "monitor", "agent"]


def expected_band(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean with Student's 95% interval, one row per cell and step, cut where no value can be."""
    result = frame.groupby([*KEYS, "step"])[column].agg(["mean", "sem", "count"])
    half = stats.t.ppf(0.975, result["count"] - 1) * result["sem"]
    low, high = result["mean"] - half, result["mean"] + half
    if column == "return":
        names = zip(*(result.index.get_level_values(key) for key in KEYS[:2]), strict=True)
        high = np.minimum(high, [monmdp.solve(monmdp.make(*name)).optimal_return for name in names])
    else:
        low = np.maximum(low, 0)
    if column == "observed":
        high = np.minimum(high, result.index.get_level_values("step"))
    return pd.DataFrame({"mean": result["mean"], "low": low, "high": high})


def assert_equal_tables(shown_rows: pd.DataFrame, expected: pd.DataFrame, columns: list[str]) -> None:
    both = shown_rows.set_index(list(expected.index.names)).sort_index()
    assert both.index.equals(expected.sort_index().index)
    np.testing.assert_allclose(both[columns], expected.sort_index()[columns], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_three_files(name, drawn):
    pdf, png, csv = drawn[name]
    assert [path.name for path in drawn[name]] == [f"{name}.pdf", f"{name}.png", f"{name}.csv"]
    assert pdf.read_bytes().startswith(b"%PDF")
    assert b"/Subtype /Image" not in pdf.read_bytes() or name in ("visits", "q-values", "environments"), (
        "vectors, not pixels"
    )
    with Image.open(png) as picture:
        assert min(picture.size) > 100
        assert picture.width <= 5.6 * 220, "at most the width of a paper's text"
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20, "not a blank page"
    assert len(pd.read_csv(csv)) > 0


@pytest.mark.parametrize("name", LAYOUTS)
def test_same_results_give_same_bytes(name, drawn, folder, variants, tmp_path):
    """Independent of the user's matplotlib settings, and without changing them."""
    with matplotlib.rc_context({"font.size": 30.0, "lines.linewidth": 9.0, "axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        results = Results(variants if name in SENSITIVITY else folder)
        formats = ("pdf", "png", "csv") if name == "solved" else ("pdf", "csv")  # a picture is what the PDF is
        again = dict(draw_figures([name], results, tmp_path, formats=formats))[name]
        assert dict(matplotlib.rcParams) == before
    drawn_before = [path for path in drawn[name] if path.suffix[1:] in formats]
    for one, other in zip(drawn_before, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(("name", "column"), [("returns-all", "return"), ("observed-all", "observed")])
def test_curves_are_means_with_students_interval(name, column, drawn, folder):
    result = table(drawn, name).query("agent != 'optimum'")
    expected = expected_band(runs(folder), column)
    assert_equal_tables(result, expected, ["mean", "low", "high"])
    assert set(result["runs"]) == {4}
    if column == "return":
        half = expected["mean"] - expected["low"]
        assert (expected["high"] < expected["mean"] + half - 1e-9).any(), "some intervals are cut at the optimum"


@pytest.mark.parametrize("column", ["observed", "paid"])
def test_returns_over_what_was_spent(column, drawn, folder):
    """At x, the mean over seeds of the return at the last point at which a seed had spent at most x."""
    shown = table(drawn, f"returns-{column}").query("agent != 'optimum'")
    data = runs(folder)
    assert (data.groupby([*KEYS, "seed"])[column].diff().dropna() >= -1e-12).all()
    for names, curve in shown.groupby(KEYS):
        mine = data[(data[KEYS] == list(names)).all(axis=1)]
        assert curve[column].max() == pytest.approx(mine[column].max())
        for row in curve.iloc[::9].itertuples():
            affordable = mine[mine[column] <= getattr(row, column) * (1 + 1e-9)]
            last = affordable.loc[affordable.groupby("seed")["step"].idxmax()]
            assert row.mean == pytest.approx(last["return"].mean())


def test_exploring_steps_and_the_bounds_of_theorem_1(tmp_path):
    """10 pairs; D̄ is 3 for the fastest policy, and 21 for a random walk; the first 10,000 steps."""
    agents = ["Directed(beta_bar=0.1)", "Directed(beta_bar=0.1, random_goal_policy=True)", "Naive"]
    sweep = monmdp.Sweep(["Empty(rows=1, columns=2)"], ["Full"], agents, seeds=3, steps=10_000, points=200)
    monmdp.run_sweep([sweep], tmp_path)
    figure = drawing("exploring", tmp_path)
    (axes,) = figure.figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    shown = pd.DataFrame(figure.rows, columns=figure.columns).set_index(["agent", "step"])
    measured = runs(tmp_path).groupby(["agent", "step"])["explored"].mean()
    for agent in agents:
        curve = shown.loc[agent]["mean"].astype(float)
        np.testing.assert_allclose(curve, measured.loc[agent][curve.index])
        assert curve.index[0] == 50
        assert curve.index[-1] == 10_000
    for name, longest in {"bound, fastest ρ": 3, "bound, random walk": 21}.items():
        values = shown.loc[name]["mean"].astype(float)
        np.testing.assert_allclose(values, 10 * longest / values.index * (np.log(values.index) / 0.1 + 1), rtol=1e-6)
    legend = [text.get_text() for text in figure.figure.legends[0].get_texts()]
    assert legend[-2:] == ["bound of Theorem 1, fastest ρ", "bound of Theorem 1, random walk"]


def test_regret_is_what_the_best_policy_would_have_collected_more(drawn, folder):
    """The reward per step of the optimal policy, estimated from simulated episodes, times the steps."""
    shown, data = table(drawn, "regret"), runs(folder)
    problem, random = monmdp.make("Loop", "Ask"), np.random.default_rng(0)
    policy, simulation = monmdp.solve(problem).policy, Simulation(problem, 5)
    total, steps = 0.0, 5000
    for _ in range(steps):
        outcome = simulation.step(random.choice(problem.n_actions, p=policy[simulation.state]))
        total += outcome.env_reward + outcome.monitor_reward
        if outcome.terminated or outcome.truncated:
            simulation.restart()
    for agent in TWO_AGENTS:
        where = f"environment == 'Loop' and monitor == 'Ask' and agent == '{agent}' and step == 2000"
        expected = 2000 * total / steps - data.query(where)["collected"].mean()
        assert shown.query(where)["mean"].item() == pytest.approx(expected, abs=2.0)
        assert expected > 50


def test_runs_of_earlier_versions_lack_new_metrics(folder, tmp_path):
    """Old runs are left out of the figure, which says so; without any others there is none."""
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    forget_metrics(copy, "Naive")
    figure = drawing("regret", copy).figure
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Directed", NOT_RECORDED]
    assert drawing("returns-observed", copy).rows == drawing("returns-observed", folder).rows
    forget_metrics(copy, "Directed")
    for name in ("regret", "returns-paid"):
        with pytest.raises(monmdp.MonMDPError, match="an earlier version made them"):
            drawing(name, copy)


def forget_metrics(folder, agent: str) -> None:
    """Remove the metrics that version 0.2.0 added from the curves of an agent."""
    for path in list(folder.glob(f"curves/*/*/{agent}/*.parquet")):
        entry, rows = read_entry(path, "curves"), parquet.read_table(path)
        write_parquet(path.parent, rows.drop(["paid", "collected"]), "curves", entry.settings, entry.seeds)
        path.unlink()


@pytest.mark.parametrize(
    ("statistic", "expected"), [("median", np.median), ("iqm", partial(stats.trim_mean, proportiontocut=0.25))]
)
def test_other_statistics_of_curves(statistic, expected, folder, tmp_path):
    [(_, [file])] = draw_figures(["returns-all"], Results(folder), tmp_path, statistic=statistic, formats=["csv"])
    shown = pd.read_csv(file).query("agent != 'optimum'").set_index([*KEYS, "step"])
    wanted = runs(folder).groupby([*KEYS, "step"])["return"].agg(lambda values: expected(values.to_numpy()))
    np.testing.assert_allclose(shown[statistic].sort_index(), wanted.sort_index())
    assert (shown["low"] <= shown[statistic]).all()
    assert (shown["high"] >= shown[statistic]).all()


@pytest.mark.parametrize("name", SENSITIVITY)
def test_sensitivity_is_computed_from_the_runs(name, drawn, variants):
    shown, finals = table(drawn, name), runs(variants, "tables")
    assert set(shown["option"]) == {"alpha"}, "the option with most values is across"
    assert set(shown["other_option"]) == {"initial_q"}
    assert len(shown) == 24
    column = "solved" if name == "sensitivity-solved" else "final_return"
    expected = finals.groupby(KEYS)[column].mean().to_dict()
    for row in shown.itertuples():
        estimate = row.fraction if column == "solved" else row.mean
        assert estimate == pytest.approx(expected[row.environment, row.monitor, row.agent], abs=1e-12)
        assert row.agent == f"Naive(alpha={row.value}, initial_q={row.other_value})"
        assert row.low <= estimate <= row.high


def test_sensitivity_to_one_option_is_a_line(tmp_path):
    agents = ["UCB", "Naive", "Naive(epsilon=0.1)", "Naive(epsilon=0.5)"]
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full", "Ask"], agents, seeds=2, steps=200, points=5)], tmp_path)
    figure = drawing("sensitivity", tmp_path).figure
    assert len(figure.axes) == 2, "one panel per problem"
    for axes in figure.axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0.1", "0.5", "(1.0, 0.0)"]
        assert [len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"] == [3]
    with pytest.raises(monmdp.MonMDPError, match="no two variants"):
        drawing("sensitivity", Results(tmp_path).only(["UCB", "naive(epsilon=0.1)"]))


def test_a_panel_without_a_solved_seed_is_empty(variants):
    """Where no seed is solved, there are no flat lines at 0, but a note."""
    solved = runs(variants, "tables").groupby("monitor")["solved"].any().to_dict()
    assert solved == {"Ask": False, "Full": True}, "the runs differ as this test needs"
    full, ask = drawing("steps-to-solve", variants).figure.axes
    assert (len(full.lines), len(full.texts)) == (12, 0)
    assert not ask.lines
    assert [text.get_text().split() for text in ask.texts] == [["no", "seed", "solved"]]


def test_the_optimum_is_the_exact_one(drawn):
    result = table(drawn, "returns-all").query("agent == 'optimum'")
    assert len(result) == 2 * 5
    for row in result.itertuples():
        assert row.mean == monmdp.solve(monmdp.make(row.environment, row.monitor)).optimal_return


def test_main_figures_show_the_papers_main_environments(drawn):
    for name in ("returns", "observed"):
        assert set(table(drawn, name)["environment"]) == {"RiverSwim"}
        assert set(table(drawn, f"{name}-all")["environment"]) == {"RiverSwim", "Loop", "Walk"}


def test_infinite_beta_counts_as_ten(drawn, folder):
    frame = runs(folder).query("agent == 'Directed'")
    assert np.isinf(frame["beta"]).any()
    frame["beta"] = frame["beta"].clip(upper=10.0)
    assert_equal_tables(table(drawn, "beta"), expected_band(frame, "beta"), ["mean", "low", "high"])


def test_beta_of_one_run(drawn, folder):
    frame = runs(folder).query("agent == 'Directed' and environment == 'RiverSwim' and monitor == 'Button'")
    values = frame.pivot(index="seed", columns="step", values="beta").clip(upper=10.0)
    result = table(drawn, "beta-run")
    assert set(result["seed"]) == {0}
    assert result["step"].tolist() == values.columns.tolist()
    assert result["beta"].tolist() == values.loc[0].tolist()
    np.testing.assert_allclose(result["low_5"], values.quantile(0.05), rtol=1e-12)
    np.testing.assert_allclose(result["high_95"], values.quantile(0.95), rtol=1e-12)


def test_visits_and_values_of_the_first_seed(drawn, folder):
    problem = monmdp.make("RiverSwim", "Button")
    finals = runs(folder, "tables").query("environment == 'RiverSwim' and monitor == 'Button' and seed == 0")
    visits, values = table(drawn, "visits"), table(drawn, "q-values")
    exact = monmdp.solve(problem).q
    for row in finals.itertuples():
        counts = visits[visits["agent"] == row.agent]
        learnt = values[values["agent"] == row.agent]
        assert counts["visits"].tolist() == row.visit_counts.tolist()
        assert learnt["q"].tolist() == row.q.tolist()
        assert learnt["optimal_q"].tolist() == exact.ravel().tolist()
    labels = [str(state) for state in range(6) for _ in range(4)]
    assert visits["environment_state"].astype(str).tolist() == labels * 2
    assert visits["monitor_state"].tolist() == ["off", "off", "on", "on"] * 12
    assert visits["action"].tolist() == ["LEFT", "RIGHT"] * 24


def test_solved_is_counted_from_the_runs(drawn, folder):
    finals = runs(folder, "tables")
    expected = finals.groupby(KEYS)["solved"].agg(["sum", "count"])
    result = table(drawn, "solved").set_index(KEYS).sort_index()
    assert result["solved"].tolist() == expected["sum"].tolist()
    assert 0 < result["solved"].sum() < result["runs"].sum(), "some but not all"
    for (wins, n), row in zip(expected.itertuples(index=False), result.itertuples(), strict=True):
        interval = stats.binomtest(int(wins), int(n)).proportion_ci(method="wilson")
        np.testing.assert_allclose([row.fraction, row.low, row.high], [wins / n, *interval], atol=1e-12)


def test_steps_to_solve(drawn, folder):
    optima = runs(folder, "tables").drop_duplicates(KEYS).set_index(KEYS)["optimal_return"]
    expected = {}
    for key, frame in runs(folder).groupby(KEYS):
        solved = frame.pivot(index="seed", columns="step", values="return") >= optima[key] - 1e-6
        for step in solved.columns:
            expected[*key, step] = solved.loc[:, step:].all(axis=1).mean()  # from here to the end
    result = table(drawn, "steps-to-solve").set_index([*KEYS, "step"])["mean"]
    assert result.to_dict() == expected
    whole = table(drawn, "solving").query("agent == 'Naive' and part == 1.0")["fraction"].item()
    shares = [value for (_, _, agent, step), value in expected.items() if agent == "Naive" and step == 2000]
    np.testing.assert_allclose(whole, np.mean(shares))


def scores(folder, agent: str) -> np.ndarray:
    """Normalised final returns [runs, problems] by the definition."""
    columns = []
    for (environment, monitor), frame in runs(folder, "tables").query(f"agent == '{agent}'").groupby(KEYS[:2]):
        problem = monmdp.make(environment, monitor)
        uniform = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
        worst, best = monmdp.policy_return(problem, uniform), monmdp.solve(problem).optimal_return
        columns.append((frame.sort_values("seed")["final_return"] - worst) / (best - worst))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("agent", TWO_AGENTS)
def test_profiles_and_aggregates_of_normalised_scores(agent, drawn, folder):
    mine = scores(folder, agent)
    for row in table(drawn, "profiles").query(f"agent == '{agent}'").itertuples():
        assert row.fraction == pytest.approx(np.mean(mine >= row.score - 1e-6), abs=1e-12)
        assert row.low <= row.fraction <= row.high
        assert (row.runs, row.number_of_problems) == mine.shape
    result = table(drawn, "aggregates").query(f"agent == '{agent}'").set_index("aggregate")["estimate"]
    middle = np.sort(mine, axis=None)
    cut = len(middle) // 4
    expected = [middle[cut:-cut].mean(), mine.mean(), np.maximum(1 - mine, 0).mean(), np.mean(mine >= 1 - 1e-6)]
    np.testing.assert_allclose(result, expected)


def test_improvement_compares_every_pair_of_runs(drawn, folder):
    shared = np.array_split(scores(folder, "Directed"), [4], axis=1)[0]  # Walk comes last and has one agent only
    other = scores(folder, "Naive")
    wins = [
        np.mean([(one > two) + 0.5 * (one == two) for one, two in itertools.product(shared[:, i], other[:, i])])
        for i in range(4)
    ]
    row = table(drawn, "improvement").iloc[0]
    assert (row["first"], row["other"]) == ("Directed", "Naive")
    assert row["estimate"] == pytest.approx(np.mean(wins))


def test_environments_are_listed_tile_by_tile(drawn):
    loop = table(drawn, "environments").query("environment == 'Loop'")
    assert "".join(loop["tile"]) == ".<..>^..C"
    assert loop["start_probability"].tolist() == [1.0] + [0.0] * 8


def test_a_chosen_problem_is_named_in_the_files(folder, tmp_path, capsys):
    words = ["figure", "visits", str(folder), "--out", str(tmp_path), "--env", "loop", "--monitor", "ASK"]
    assert main(words) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"visits-Loop-Ask.{kind}" for kind in ("csv", "pdf", "png")
    ]
    result = pd.read_csv(tmp_path / "visits-Loop-Ask.csv")
    assert set(result["environment"] + result["monitor"]) == {"LoopAsk"}
    finals = runs(folder, "tables").query(
        "environment == 'Loop' and monitor == 'Ask' and seed == 0 and agent == 'Naive'"
    )
    assert result.query("agent == 'Naive'")["visits"].tolist() == finals["visit_counts"].item().tolist()


def texts(figure) -> list[Text]:
    """All visible texts, without the labels of hidden axes."""
    hidden = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in hidden_labels(axes, axis)}
    shown = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())
    return [text for text in shown if text not in hidden]


def hidden_labels(axes, axis) -> list[Text]:
    """Labels of ticks outside the limits of an axis, or of an axis that is off, which matplotlib does not draw."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    outside = [tick for tick in ticks if not low - slack <= tick.get_loc() <= high + slack or not axes.axison]
    return [label for tick in outside for label in (tick.label1, tick.label2)]


@pytest.mark.parametrize(
    ("which", "name"),
    [
        *(("folder", name) for name in FIGURES if name not in SENSITIVITY),
        *(("variants", name) for name in SENSITIVITY),
        *((which, name) for which in ("odd_folder", "single", "variants") for name in LAYOUTS if name != "sensitivity"),
    ],
)
def test_no_text_is_cut_or_overlaps_another(which, name, request):
    """Every text is inside the figure, apart from all others, and is not parsed as a formula."""
    try:
        figure = drawing(name, request.getfixturevalue(which)).figure
    except monmdp.MonMDPError:
        assert which != "folder"
        assert name not in SENSITIVITY
        return
    with styled():
        figure.draw_without_rendering()
        placed = {text: text.get_window_extent() for text in texts(figure)}
    width, height = figure.bbox.size
    for text, box in placed.items():
        assert box.x0 >= -1, f"{text} is cut at the left"
        assert box.x1 <= width + 1, f"{text} is cut at the right"
        assert box.y0 >= -1, f"{text} is cut at the bottom"
        assert box.y1 <= height + 1, f"{text} is cut at the top"
        assert not text.get_parse_math()
    for (one, box), (other, other_box) in itertools.combinations(placed.items(), 2):
        wide = min(box.x1, other_box.x1) - max(box.x0, other_box.x0)
        high = min(box.y1, other_box.y1) - max(box.y0, other_box.y0)
        assert min(wide, high) <= 1.0, f"{one} and {other}"


def drawing(name, folder):
    results = folder if isinstance(folder, Results) else Results(folder)
    with styled():
        return FIGURES[name].draw(FigureData(results, default_problem(results)))


def test_missing_cells_are_shown_as_missing(folder):
    figure = drawing("returns-all", folder).figure
    notes = {axes: [text.get_text() for text in axes.texts] for axes in figure.axes}
    grey = [axes for axes in figure.axes if to_hex(axes.get_facecolor()) == PALE]
    assert [axes for axes, words in notes.items() if "no runs" in words] == grey
    assert len(figure.axes) == 6
    assert len(grey) == 1, "Walk + Ask"
    assert [words for words in notes.values() if "no Naive" in words] == [["no Naive"]], "Walk + Button"
    cells = [text.get_text() for text in texts(drawing("solved", folder).figure)]
    assert cells.count("no runs") == 1


def test_one_seed_has_no_band(single):
    figure = drawing("returns", single).figure
    assert [len(axes.collections) for axes in figure.axes] == [0]
    frame = pd.read_csv(draw_figure("returns", single, single / "mine")[2])
    assert frame["low"].isna().all()
    assert frame.query("agent == 'Naive'")["mean"].tolist() == runs(single).sort_values("step")["return"].tolist()


def test_several_seeds_have_a_band(folder):
    figure = drawing("returns-all", folder).figure
    assert sorted(len(axes.collections) for axes in figure.axes) == [0, 1, 2, 2, 2, 2]


def test_curves_that_end_far_below_are_marked(tmp_path):
    """A few very bad agents do not flatten all others."""
    near, far = np.linspace(-3.0, 0.9, 50), np.linspace(-3.0, -120.0, 50)
    low, high = return_limits([0.9], [near, near, near - 0.2, far])
    assert -0.5 < low < 0.0
    assert 0.9 < high < 1.1
    low, _ = return_limits([8.0], [far, far - 1, far - 2])
    assert low < -122, "all are far below, so the axis extends to them"
    low, _ = return_limits([0.8, -1.1], [near, near, far])
    assert low < -1.1  # the lower optimum can be seen
    low, high = return_limits([0.0], [np.zeros(5)])
    assert low < 0 < high
    sweep = monmdp.Sweep(["Hazard"], ["Level(n=4)"], TWO_AGENTS, 1, steps=3000, points=50)
    monmdp.run_sweep([sweep], tmp_path)
    finals = runs(tmp_path, "tables").set_index("agent")["final_return"]
    assert finals["Naive"] < -100 < finals["Directed"], "the runs differ as this test needs"
    words = [text.get_text() for text in texts(drawing("returns", tmp_path).figure)]
    assert f"▾{number(round(finals['Naive']))}" in words
    assert "final return, below the axis" in words


def test_odd_names_stay_as_they_are(odd_folder, tmp_path):
    figure = drawing("returns-all", odd_folder).figure
    assert "".join(ODD.split()) in ["".join(text.get_text().split()) for text in texts(figure)]
    [(_, [file])] = draw_figures(["returns-all"], Results(odd_folder), tmp_path, formats=["csv"])
    frame = pd.read_csv(file)
    assert ODD in set(frame["environment"])
    assert "Naive(epsilon=(0.5, 0.0), initial_q=-10.0)" in set(frame["agent"])


def test_long_names_are_wrapped():
    for name in ("short", "Empty(rows=9, columns=9, random_action=0.25)", "x" * 300, "line\nbreak\ttab", ""):
        lines = wrapped(name, 1.0, lines=2).splitlines()
        assert len(lines) <= 2
        assert all(len(line) <= 17 for line in lines)
    assert wrapped("short", 1.0) == "short"
    assert wrapped("x" * 300, 1.0).endswith("…")


def test_every_agent_has_its_own_style():
    agents = [*KNOWN, *(f"Directed(beta_bar=0.{i})" for i in range(1, 26))]
    assert set(PAPER_AGENTS) == set(KNOWN)
    styles = agent_styles(agents)
    assert len({(style.colour, style.dashes) for style in styles.values()}) == len(agents)
    assert agent_styles(["Mine", "Naive"])["Naive"] == styles["Naive"], "the same in every figure"


@pytest.mark.parametrize("others", [[], ["UCB", "Mine"]])
def test_options_of_variants_are_tones_and_dashes(others):
    """In a grid of two options, one is the tone, from dark to light, and the other one the line style."""
    grid = {(a, q): f"Naive(alpha={a}, initial_q={q})" for a in (1e-05, 0.5, 1.0) for q in (0.0, 1.0)}
    styles = agent_styles(["Naive", *grid.values(), *others])
    assert styles["Naive"] == KNOWN["Naive"]
    assert len(set(styles.values())) == len(styles)
    colours = {alpha: {styles[grid[alpha, q]].colour for q in (0.0, 1.0)} for alpha in (1e-05, 0.5, 1.0)}
    assert all(len(same) == 1 for same in colours.values())
    brightness = [sum(to_rgb(same.pop())) for same in colours.values()]
    assert brightness == sorted(brightness)
    assert len({styles[grid[alpha, 1.0]].dashes for alpha in (1e-05, 0.5, 1.0)}) == 1


def test_long_curves_are_thinned_evenly():
    assert shown_points(1001).tolist() == list(range(0, 1001, 8))
    for points in (1, 2, 125, 126, 127, 5000):
        kept = shown_points(points)
        assert (kept[0], kept[-1]) == (0, points - 1)
        assert len(kept) == min(points, SHOWN_POINTS)


def test_numbers_in_files_read_back_as_they_were():
    assert csv_text(("a", "b"), [(0.1 + 0.2, "x,y"), (float("nan"), 3)]) == 'a,b\n0.30000000000000004,"x,y"\n,3\n'


def error_line(capsys, *words: str) -> str:
    assert main(["figure", *words]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert output.startswith("monmdp: ")
    return output


def test_all_draws_what_it_can_and_reports_the_rest(single, tmp_path, capsys):
    assert main(["figure", "all", str(single), "--out", str(tmp_path), "--format", "csv"]) == 0
    output = capsys.readouterr().out
    left_out = {line.split(" is left out: ")[0] for line in output.splitlines() if " is left out: " in line}
    assert left_out == {"beta", "beta-run", "improvement", "returns-paid", *SENSITIVITY}
    chosen = {"visits-Loop-Full", "q-values-Loop-Full"}  # the folder does not have the problem of the paper's figures
    assert {path.stem for path in tmp_path.glob("*.csv")} == set(FIGURES) - left_out - {"visits", "q-values"} | chosen


def test_agents_size_and_format_can_be_chosen(variants, tmp_path, capsys):
    options = ["--agents", "naive(alpha=0.05, initial_q=1.0), Naive(alpha=0.1, initial_q=1.0)", "--size", "7x3"]
    assert main(["figure", "returns", str(variants), "--out", str(tmp_path), *options, "--format", "svg,png,csv"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"returns.svg", "returns.png", "returns.csv"}
    with Image.open(tmp_path / "returns.png") as picture:
        assert picture.size == (7 * 220, 3 * 220)
    agents = set(pd.read_csv(tmp_path / "returns.csv")["agent"]) - {"optimum"}
    assert agents == {"Naive(alpha=0.05, initial_q=1.0)", "Naive(alpha=0.1, initial_q=1.0)"}
    text = (tmp_path / "returns.svg").read_text()
    assert "<svg" in text
    assert "Naive(alpha=0.05)" in text, "the legend shows what differs"
    assert set(Results(variants).only(["NAIVE"]).agents) == set(Results(variants).agents), "a class is all its variants"


def test_figures_go_into_the_results_folder_by_default(folder, tmp_path, capsys):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    assert main(["figure", "SOLVED", str(copy)]) == 0
    assert {path.name for path in (copy / "figures").iterdir()} == {"solved.pdf", "solved.png", "solved.csv"}
    assert monmdp.load(copy).num_rows == monmdp.load(folder).num_rows


def test_the_list_names_every_figure(capsys):
    assert main(["figure"]) == 0
    output = capsys.readouterr().out
    assert all(any(line.split()[:1] == [name] for line in output.splitlines()) for name in [*FIGURES, "all"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["retruns"], "Did you mean 'returns'"),
        (["beta"], "No agent in .* records β; Directed does"),
        (["beta-run"], r"No agent in Loop \+ Full records β"),
        (["returns", "--agents", "Naiv"], "no agent 'Naiv'. Did you mean 'Naive'"),
        (["returns", "--size", "wide"], "The size is a width in inches from 1 to 40, such as 7, or 7x4"),
        (["returns", "--size", "7x400"], "The size is a width in inches from 1 to 40"),
        (["returns", "--format", "png,gif"], "Figures are written as pdf, png, svg, csv, not as 'png,gif'"),
        (["returns-paid"], "'paid' is never above zero"),
        (["sensitivity"], "no two variants of an agent, monitor or environment"),
        (["visits", "--env", "Lop"], "no environment 'Lop'. Did you mean 'Loop'"),
        (["beta-run", "--env", "Loop", "--monitor", "Full"], r"No agent in Loop \+ Full records β"),
        (["returns", "--env", "Loop"], "returns shows all problems; --env and --monitor are for"),
        (["improvement"], "Naive only"),
    ],
)
def test_missing_data_raise_a_clear_error(words, expected, single, capsys, tmp_path):
    name, *options = words
    output = error_line(capsys, name, str(single), "--out", str(tmp_path), *options)
    assert re.search(expected, output)
    assert list(tmp_path.iterdir()) == []


def test_folders_without_results(tmp_path, capsys):
    assert "There is no results folder" in error_line(capsys, "all", str(tmp_path / "none"))
    assert "is not a results folder" in error_line(capsys, "all", str(tmp_path))
    Store(tmp_path, create=True)
    assert "has no results yet" in error_line(capsys, "all", str(tmp_path))


def test_a_folder_that_cannot_be_created(single, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be created" in error_line(capsys, "solved", str(single), "--out", str(tmp_path / "file"))


def test_starting_monmdp_does_not_load_matplotlib():
    script = "import sys, monmdp, monmdp.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("DeepSea(size=30)", 0.8, "DeepSea(\nsize=30)"),
        ("Empty(rows=12, columns=12)", 1.0, "Empty(rows=12,\ncolumns=12)"),
        ("x(of_everything=12345678901234567890)", 1.5, "x(of_everything=\n12345678901234567890)"),
    ],
)
def test_names_break_before_options_rather_than_values(name, width, expected):
    assert wrapped(name, width, bold=True) == expected
