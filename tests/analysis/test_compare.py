"""Comparisons, plots, heat maps and files of curves, against SciPy, pandas and numbers worked out by hand."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import monmdp
from monmdp.agents import Agent
from monmdp.cli import main

AGENTS = ["Naive", "Naive(epsilon=0.5)", "UCB"]


@pytest.fixture(scope="module")
def problem() -> monmdp.MonMDP:
    return monmdp.make("Loop", "Full")


@pytest.fixture(scope="module")
def comparison(problem: monmdp.MonMDP) -> monmdp.Comparison:
    return monmdp.compare(problem, AGENTS, seeds=6, steps=3_000, points=30)


def slowly_until_solved(curves: monmdp.Curves) -> list[tuple[float, float]]:
    """Step and observed rewards from which on each seed stays solved."""
    results = []
    for returns, observed in zip(curves.returns, curves.observed, strict=True):
        points = [i for i in range(len(returns)) if all(value >= curves.target_return - 1e-6 for value in returns[i:])]
        results.append((float(curves.steps[points[0]]), float(observed[points[0]])) if points else (np.inf, np.inf))
    return results


def test_rows_agree_with_scipy(comparison: monmdp.Comparison) -> None:
    first = comparison["Naive"].final_returns
    rows = comparison.rows()
    assert [row["agent"] for row in rows] == AGENTS
    for row, curves in zip(rows, comparison, strict=True):
        final = curves.final_returns
        low, high = stats.t.interval(0.95, len(final) - 1, final.mean(), stats.sem(final)) if final.std() else (0, 0)
        assert row["final_return"] == pytest.approx(final.mean())
        assert row["final_return_ci"] == pytest.approx((high - low) / 2)
        assert row["solved"] == np.mean(final >= curves.target_return - 1e-6)
        steps, observed = zip(*slowly_until_solved(curves), strict=True)
        for name, values in (("steps_until_solved", steps), ("observed_until_solved", observed)):
            assert row[name] == (np.median(values) if np.isfinite(np.median(values)) else None)
    assert rows[0]["difference"] is None
    for row, curves in zip(rows[1:], list(comparison)[1:], strict=True):
        test = stats.permutation_test(
            (curves.final_returns, first), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples"
        )
        assert (row["difference"], row["p_value"]) == pytest.approx((test.statistic, test.pvalue))
    assert any(row["steps_until_solved"] for row in rows), "some agent solves the problem"
    json.dumps(rows, allow_nan=False)


def test_a_comparison_prints_itself(comparison: monmdp.Comparison) -> None:
    text = repr(comparison)
    assert all(f"| {agent} |" in text for agent in AGENTS)
    assert "baseline" in text
    assert "6 seeds × 3,000 steps" in text
    assert comparison._repr_html_().count("<tr>") == 4


def test_runs_are_those_of_train(problem: monmdp.MonMDP, comparison: monmdp.Comparison) -> None:
    alone = monmdp.train(problem, "UCB", seeds=[4], steps=3_000, points=30)
    np.testing.assert_array_equal(comparison["UCB"].returns[4], alone.returns[0])


def test_progress_covers_all_agents(problem: monmdp.MonMDP) -> None:
    calls: list[tuple[int, int]] = []
    monmdp.compare(problem, AGENTS[:2], 2, steps=200, progress=lambda done, total: calls.append((done, total)))
    assert {total for _, total in calls} == {2 * 2 * 200}
    assert calls[-1][0] == 800
    assert all(one[0] <= other[0] for one, other in pairwise(calls))


@pytest.mark.parametrize("agents", [[], ["Naive"], "Naive", ["Naive", "naive"]])
def test_at_least_two_different_agents(problem: monmdp.MonMDP, agents: list[str]) -> None:
    with pytest.raises(monmdp.MonMDPError, match="two agents with different names or options"):
        monmdp.compare(problem, agents, 2, steps=10)


def test_train_names_compare_for_several_agents(problem: monmdp.MonMDP, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(monmdp.MonMDPError, match="compare"):
        monmdp.train(problem, ["Naive", "UCB"])
    assert main(["train", "Loop", "Full", "--agent", "Naive", "--agent", "UCB"]) == 2
    assert "monmdp compare" in capsys.readouterr().err


def test_saved_curves_come_back(comparison: monmdp.Comparison, tmp_path: Path) -> None:
    curves = comparison["Naive"]
    curves.save(tmp_path / "a.npz")
    again = monmdp.Curves.load(tmp_path / "a.npz")
    assert (again.agent, again.seeds, again.settings, again.seconds) == (
        curves.agent, curves.seeds, curves.settings, curves.seconds,
    )  # fmt: skip
    assert again.problem.digest == curves.problem.digest
    assert again.recorded.keys() == curves.recorded.keys()
    for name in (*curves.recorded, "visit_counts", "q", "reward_model", "steps"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curves, name))


def test_files_that_are_not_curves_of_the_problem(comparison: monmdp.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with pytest.raises(monmdp.MonMDPError, match="no file"):
        monmdp.Curves.load(path)
    comparison["Naive"].save(path)
    with pytest.raises(monmdp.MonMDPError, match="another problem"):
        monmdp.Curves.load(path, monmdp.make("Loop", "Ask"))
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(monmdp.MonMDPError, match="not a file of curves"):
        monmdp.Curves.load(path)
    with pytest.raises(monmdp.MonMDPError, match=r"\.csv or \.npz"):
        comparison["Naive"].save(tmp_path / "a.xlsx")


def test_csv_and_pandas_have_the_same_rows(comparison: monmdp.Comparison, tmp_path: Path) -> None:
    comparison.save(tmp_path / "all.csv")
    read, made = pd.read_csv(tmp_path / "all.csv"), comparison.to_pandas()
    pd.testing.assert_frame_equal(read, made, check_dtype=False)
    assert len(made) == 3 * 6 * 31
    last = made[(made.agent == "UCB") & (made.seed == 2)].iloc[-1]
    assert (last.environment, last.monitor, last.step) == ("Loop", "Full", 3_000)
    assert last["return"] == comparison["UCB"].final_returns[2]


def test_without_pandas_a_sentence(comparison: monmdp.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(monmdp.MonMDPError, match="pip install pandas"):
        comparison["Naive"].to_pandas()


@pytest.mark.parametrize("metric", ["return", "observed", "visited", "explored"])
def test_a_plot_shows_the_means(comparison: monmdp.Comparison, metric: str) -> None:
    figure = comparison.plot(metric)
    drawn = [line.get_ydata() for line in figure.axes[0].get_lines() if len(line.get_ydata()) > 2]
    means = [curves.curve(metric).mean(0) for curves in comparison]
    assert len(drawn) == len(means)
    for mean in means:
        assert any(np.allclose(mean, line) for line in drawn)


def test_plots_of_several_problems(problem: monmdp.MonMDP, comparison: monmdp.Comparison, tmp_path: Path) -> None:
    other = monmdp.train(monmdp.make("Hazard", "Ask"), "Naive", 2, steps=300)
    figure = monmdp.plot([comparison["UCB"], other], path=tmp_path / "p.pdf")
    assert [axes.get_ylabel() for axes in figure.axes] == ["Loop + Full", "Hazard + Ask"]
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")
    assert monmdp.plot({"mine": other, "theirs": replace(other, agent="UCB")}).axes
    with pytest.raises(monmdp.MonMDPError, match="name them"):
        monmdp.plot([other, other])
    for wrong in ({"metric": "retrun"}, {"statistic": "mode"}, {"path": tmp_path / "a.txt"}):
        with pytest.raises(monmdp.MonMDPError):
            monmdp.plot(other, **wrong)
    with pytest.raises(monmdp.MonMDPError, match="needs Curves"):
        monmdp.plot([1.0])  # type: ignore[list-item]


def test_a_heat_map_is_the_grid(comparison: monmdp.Comparison) -> None:
    problem, values = comparison["Naive"].problem, np.arange(comparison["Naive"].problem.n_states, dtype=float)
    axes = monmdp.heatmap(problem, values).axes[0]
    shown = axes.collections[0].get_array().reshape(problem.environment.layout.rows, -1)
    for state, (row, column) in enumerate(problem.environment.layout.cells):
        if problem.reachable[state]:
            assert shown[row, column] == state
    assert not axes.texts or not any(text.get_text() for text in axes.texts)
    with pytest.raises(monmdp.MonMDPError, match="shape"):
        monmdp.heatmap(problem, np.zeros(3))


def test_arrows_are_the_best_actions() -> None:
    """In RiverSwim swimming right is best everywhere."""
    problem = monmdp.make("RiverSwim", "Full")
    figure = monmdp.heatmap(problem, monmdp.solve(problem).q)
    assert {text.get_text() for text in figure.axes[0].texts} == {"→"}


def test_heat_maps_of_runs(comparison: monmdp.Comparison) -> None:
    curves = comparison["Naive"]
    one, mean = (curves.heatmap(seed=seed).axes[0].collections[0].get_array() for seed in (2, None))
    cells = curves.problem.environment.layout.cells
    shape = (curves.problem.environment.layout.rows, curves.problem.environment.layout.columns)
    state = next(s for s in range(len(cells)) if curves.visit_counts[2, s].sum() > 0)
    assert one.reshape(shape)[cells[state]] == curves.visit_counts[2, state].sum()
    assert mean.reshape(shape)[cells[state]] == pytest.approx(curves.visit_counts[:, state].sum() / 6)
    for wrong in ({"values": "rewards"}, {"seed": 99}):
        with pytest.raises(monmdp.MonMDPError):
            curves.heatmap(**wrong)


def test_states_without_positions_have_a_map_too() -> None:
    problem = monmdp.make("Taxi-v4", "Ask")
    figure = monmdp.heatmap(problem, monmdp.solve(problem).v)
    assert figure.axes[0].collections[0].get_array().size >= 500


def test_notebooks_show_a_picture(comparison: monmdp.Comparison) -> None:
    assert 'src="data:image/png;base64,' in comparison["UCB"]._repr_html_()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "Loop", "Full", "--agents", "Naive,Naive(epsilon=0.5)", "--seeds", "2", "--steps", "300"]
    files = [tmp_path / "c.png", tmp_path / "c.csv"]
    assert main([*words, "--json", "--plot", str(files[0]), "--save", str(files[1])]) == 0
    rows = json.loads(capsys.readouterr().out)["agents"]
    assert [row["agent"] for row in rows] == AGENTS[:2]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(files[1])) == 2 * 2 * 301
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "baseline" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main([*words[:4], "Naive,Nave"]) == 2
    assert "Naive" in capsys.readouterr().err


def test_agents_are_objects_too(problem: monmdp.MonMDP) -> None:
    agent = monmdp.AGENTS.build("UCB")
    assert isinstance(agent, Agent)
    assert list(monmdp.compare(problem, [agent, "Naive"], 1, steps=50).curves) == ["UCB", "Naive"]
