"""The data of the page: packed numbers, safe names, the same values as in the Parquet files."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import monmdp
from monmdp.cli import main
from monmdp.paper.claims import check_claims
from monmdp.report import Replay, assemble, build_page, page_data, script_json, write_page
from monmdp.report.data import MOST_REPLAYS, best_actions, inspector_data, kept_points, pack, replays_of
from monmdp.study.results import Results
from monmdp.study.snapshots import take_snapshots
from monmdp.training.metrics import METRICS


def unpacked(packed):
    """The numbers of a packed array, as the page decodes them."""
    return np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two problems; UCB has no runs in one of them."""
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep(
        [
            monmdp.Sweep(["Loop"], ["Full"], ["Directed", "UCB"], seeds=4, steps=2_000, points=40),
            monmdp.Sweep(["Loop"], ["Ask"], ["Directed"], seeds=4, steps=2_000, points=40),
        ],
        folder,
    )
    return folder


@pytest.fixture(scope="module")
def data(folder):
    return page_data(Results(folder), (), None)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0, 255], "u1"), ([256], "u2"), ([65_536], "u4"), ([0.1, -2.5, np.nan], "f4"), ([True, False], "u1"), ([], "f4")],
)
def test_pack_uses_the_fewest_bytes(values, kind):
    packed = pack(values)
    assert packed["type"] == kind
    np.testing.assert_array_equal(unpacked(packed), np.asarray(values, np.float32 if kind == "f4" else None))


def test_json_cannot_end_its_script_element():
    names = ["</script><script>alert(1)</script>", "<!--", "&amp;", '"quoted"', "line\u2028\u2029break", "Ελλάδα"]
    text = script_json(names)
    assert "<" not in text
    assert json.loads(text) == names


def test_json_refuses_nan():
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


@pytest.mark.parametrize("points", [1, 2, 51, 221, 222, 1_001, 5_000])
def test_kept_points_are_few_and_include_both_ends(points):
    kept = kept_points(points)
    assert (kept[0], kept[-1]) == (0, points - 1)
    assert len(kept) <= 251
    assert (np.diff(kept) > 0).all()
    if points > 221:
        assert np.diff(kept).max() <= 1 + points / 170
        assert {1, 2, 3} <= set(kept.tolist())  # a logarithmic axis begins early
    else:
        assert len(kept) == points


def test_cells_match_the_parquet_files(folder, data):
    curves, tables = monmdp.load(folder).to_pandas(), monmdp.load(folder, kind="tables").to_pandas()
    agents = [agent["name"] for agent in data["agents"]]
    assert agents == ["Directed", "UCB"]
    assert [(p["environment"], p["monitor"]) for p in data["problems"]] == [("Loop", "Full"), ("Loop", "Ask")]
    for problem in data["problems"]:
        for agent, cell in zip(agents, problem["cells"], strict=True):
            mine = (curves["monitor"] == problem["monitor"]) & (curves["agent"] == agent)
            table = tables[(tables["monitor"] == problem["monitor"]) & (tables["agent"] == agent)]
            if cell is None:
                assert (problem["monitor"], agent, len(table)) == ("Ask", "UCB", 0)
                continue
            assert (cell["seeds"], cell["steps"]) == (4, 2_000)
            optimum = cell["levels"]["return"]["value"]
            assert optimum == table["optimal_return"].iloc[0]
            assert cell["levels"].get("beta") == (
                {"text": "explores above", "value": 0.01} if agent == "Directed" else None
            )
            assert cell["solved"] == table["solved"].sum()
            half = stats.t.ppf(0.975, 3) * stats.sem(table["final_return"])
            assert cell["curves"]["return"]["final"] == pytest.approx([table["final_return"].mean(), half])
            solved = [group.set_index("step")["return"] for _, group in curves[mine].groupby("seed")]
            first = [until(run, optimum) for run in solved]
            assert cell["until"] == (float(np.median(first)) if np.isfinite(np.median(first)) else None)
            seen = [
                group.set_index("step")["observed"].get(step, np.inf)
                for (_, group), step in zip(curves[mine].groupby("seed"), first, strict=True)
            ]
            assert cell["answers"] == (float(np.median(seen)) if np.isfinite(np.median(seen)) else None)
            by_step = curves[mine].groupby("step")
            np.testing.assert_array_equal(unpacked(data["axes"][cell["axis"]]), sorted(by_step.groups))
            for metric in METRICS:
                check_band(cell["curves"][metric.column], by_step[metric.column])


def until(run, optimum):
    """The first step from which on a run is solved, by a search through all steps."""
    for step in run.index:
        if (run.loc[step:] >= optimum - 1e-6).all():
            return step
    return np.inf


def check_band(band, by_step):
    mean = by_step.mean()
    if band is None:
        assert not np.isfinite(mean).any()
        return
    known = np.isfinite(mean.to_numpy())
    np.testing.assert_allclose(unpacked(band["mean"])[known], mean[known], rtol=1e-6)
    assert np.isnan(unpacked(band["mean"])[~known]).all()
    half = stats.t.ppf(0.975, 3) * by_step.sem().to_numpy()[known]
    np.testing.assert_allclose(unpacked(band["half"])[known], half, rtol=1e-6, atol=1e-12)


def test_shares_have_wilson_intervals(data):
    for cell in (cell for problem in data["problems"] for cell in problem["cells"] if cell):
        share, z = cell["solved"] / cell["seeds"], stats.norm.ppf(0.975)
        bounds = np.roots([1 + z**2 / 4, -2 * share - z**2 / 4, share**2])
        assert cell["share"] == pytest.approx([share, *sorted(bounds)], abs=1e-12)


def test_a_single_seed_has_no_interval(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=1, steps=50, points=5)], tmp_path)
    cell = page_data(Results(tmp_path), (), None)["problems"][0]["cells"][0]
    assert cell["curves"]["return"]["final"][1] is None
    assert cell["curves"]["return"]["half"] is None
    assert cell["curves"]["beta"] is None


def test_runs_without_evaluation_have_no_outcome(tmp_path):
    sweep = monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=2, steps=50, points=5, evaluation="none")
    monmdp.run_sweep([sweep], tmp_path)
    cell = page_data(Results(tmp_path), (), None)["problems"][0]["cells"][0]
    assert [cell[key] for key in ("solved", "share", "until", "answers")] == [None] * 4
    assert cell["curves"]["return"] is None
    assert cell["curves"]["observed"] is not None


def test_cells_of_the_same_names_keep_their_own_steps(tmp_path):
    for steps in (50, 80):
        monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=2, steps=steps, points=5)], tmp_path)
    data = page_data(Results(tmp_path), (), None)
    cells = data["problems"][0]["cells"]
    assert [cell["steps"] for cell in cells] == [50, 80]
    assert [unpacked(data["axes"][cell["axis"]])[-1] for cell in cells] == [50, 80]


def test_the_page_lists_the_metrics_of_the_table(data):
    assert [(metric["name"], metric["label"]) for metric in data["metrics"]] == [
        (metric.column, metric.label) for metric in METRICS
    ]
    assert [metric["name"] for metric in data["metrics"] if metric["integer"]] == ["observed", "visited"]
    for cell in (cell for problem in data["problems"] for cell in problem["cells"] if cell):
        assert list(cell["curves"]) == [metric.column for metric in METRICS]


def test_a_new_metric_reaches_the_page(folder, monkeypatch):
    metric = replace(METRICS[1], label="new metric", description="A metric that no other module knows.")
    monkeypatch.setattr("monmdp.report.data.METRICS", (*METRICS[:1], metric))
    data = page_data(Results(folder), (), None)
    assert data["metrics"][1]["label"] == "new metric"
    assert list(data["problems"][0]["cells"][0]["curves"]) == ["return", "observed"]


def test_agents_have_the_share_of_their_solved_runs(folder, data):
    tables = monmdp.load(folder, kind="tables").to_pandas()
    for agent in data["agents"]:
        runs = tables[tables["agent"] == agent["name"]]
        assert agent["share"] == pytest.approx(runs["solved"].mean())
    assert data["runs"] == len(tables)


def test_claims_are_those_of_the_claims_command_that_have_data(folder, data):
    claims = check_claims(Results(folder))
    checked = [claim for claim in claims if any(one.verdict != "not enough data" for one in claim.details)]
    assert [(claim["claim"], claim["verdict"], len(claim["details"])) for claim in data["claims"]] == [
        (claim.claim, claim.verdict, len(claim.details)) for claim in checked
    ]
    assert data["unchecked"] == len(claims) - len(checked) > 0


def test_best_actions_are_bits_with_ties():
    values = np.array([[[1.0, 3.0, 3.0], [np.nan, np.nan, np.nan], [2.0, 2.0, 2.0 - 1e-12], [np.nan, 1.0, 0.0]]])
    np.testing.assert_array_equal(best_actions(values), [[0b110, 0, 0b111, 0b010]])
    np.testing.assert_array_equal(best_actions(np.zeros((2, 3, 32))), np.full((2, 3), 2**32 - 1))
    np.testing.assert_array_equal(best_actions(np.zeros((2, 3, 33))), np.zeros((2, 3)))


def test_the_inspector_shows_the_run_that_was_trained():
    replay = Replay("Walk", "Button", "", ("Directed", "Naive"), steps=600)
    (shown,) = inspector_data([replay], lambda: None)
    problem = monmdp.make("Walk", "Button")
    assert (shown["name"], shown["tiles"], shown["buttons"]) == ("Walk + Button", ["c.....C"], [1])
    for run in shown["runs"]:
        snapshots = take_snapshots(problem, run["agent"], steps=600)
        assert run["levels"]["return"]["value"] == snapshots.optimal_return
        arrays = {
            "steps": snapshots.steps,
            "states": snapshots.states,
            "visits": snapshots.visits.sum(-1),
            "rewardCounts": snapshots.reward_counts,
        }
        for name, expected in arrays.items():
            np.testing.assert_array_equal(unpacked(run[name]), expected.ravel(), err_msg=name)
        for name, values in run["metrics"].items():
            attribute = next(metric.attribute for metric in METRICS if metric.column == name)
            np.testing.assert_allclose(unpacked(values), getattr(snapshots, attribute), rtol=1e-6, err_msg=name)
    directed, naive = shown["runs"]
    snapshots = take_snapshots(problem, "Directed", steps=600)
    np.testing.assert_array_equal(unpacked(directed["goals"]) - 1.0, snapshots.goals)
    assert directed["levels"]["beta"]["value"] == 0.01
    assert {"return", "observed", "explored"} <= set(naive["metrics"])
    assert set(directed["metrics"]) - set(naive["metrics"]) == {"beta"}
    assert not {"goals", "goalBest", "goalValues"} & set(naive)


def test_problems_without_a_map_are_not_replayed():
    assert inspector_data([Replay("Taxi-v4", "Full", "", ("Naive",), steps=10)], lambda: None) == []


def test_runs_of_the_folder_are_replayed(folder):
    """The first seed of agents of the folder in its problems; the last moment is the end of that run."""
    replays = replays_of(Results(folder))
    agents = {(r.environment, r.monitor): r.agents for r in replays}
    assert agents == {("Loop", "Full"): ("Directed", "UCB"), ("Loop", "Ask"): ("Directed",)}
    finals = monmdp.load(folder, kind="tables").to_pandas()
    shown = inspector_data(replays, lambda: None)
    for replay, problem in zip(replays, shown, strict=True):
        for run in problem["runs"]:
            mine = finals[(finals["monitor"] == replay.monitor) & (finals["agent"] == run["agent"])]
            stored = mine.set_index("seed").loc[replay.seed, "visit_counts"]
            last = unpacked(run["visits"]).reshape(len(unpacked(run["steps"])), -1)[-1]
            assert last.tolist() == stored.reshape(len(last), -1).sum(1).tolist()


def test_variants_are_replayed_and_studied(tmp_path):
    """Labels show what differs; runs that cannot be repeated from their names are not replayed."""
    agents = [f"Naive(alpha={alpha}, initial_q={q}, epsilon=0.1)" for alpha in (0.1, 0.5, 1.0) for q in range(8)]
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full", "Ask(cost=0.1)"], agents, seeds=2, steps=50, points=5)], tmp_path)
    results = Results(tmp_path)
    replays = replays_of(results)
    assert sum(len(replay.agents) for replay in replays) == MOST_REPLAYS
    assert "8 of 24 agents are shown" in replays[0].description
    data = page_data(results, replays[:1], None)
    titles = [agent["title"] for agent in data["agents"]]
    assert sorted(titles) == sorted(cell.settings["agent"] for cell in results.of_problem("Loop", "Full"))
    assert data["agents"][0]["name"] == "Naive(alpha=0.1, initial_q=0)"
    assert len({(agent["colour"], agent["dashes"]) for agent in data["agents"]}) == 24
    assert [(s["problem"], s["agent"], s["options"]) for s in data["sensitivity"]] == [
        (problem, "Naive", ("initial_q", "alpha")) for problem in ("Loop + Full", "Loop + Ask(cost=0.1)")
    ]
    study = data["sensitivity"][1]
    assert (study["rows"], study["columns"]) == (["0.1", "0.5", "1.0"], [str(q) for q in range(8)])
    problem, agent = study["cells"][2][5]
    assert data["problems"][problem]["monitor"] == "Ask(cost=0.1)"
    assert data["agents"][agent]["name"] == "Naive(alpha=1.0, initial_q=5)"
    assert (data["claims"], data["unchecked"]) == ([], len(check_claims(results))), "no claim is about these runs"
    forged = [replace(cell, settings={**cell.settings, "agent": "Mine"}) for cell in results.cells.values()]
    results.cells = dict(zip(results.cells, forged, strict=True))
    assert replays_of(results) == []


def test_the_policy_allows_only_the_scripts_and_styles_of_the_page(data):
    page = assemble(data)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    for kind, tag in (("script", "<script>"), ("style", "<style>")):
        text = page.split(tag, 1)[1].split(f"</{kind}>", 1)[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}


def test_names_that_look_like_slots_are_not_replaced(data):
    page = assemble({**data, "folder": "{{data}} <b>&"})
    assert "<title>{{data}} &lt;b&gt;&amp; · monmdp report</title>" in page
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(text)["folder"] == "{{data}} <b>&"


def test_progress_reaches_its_end(folder):
    calls = []
    build_page(Results(folder), (), lambda *call: calls.append(call))
    assert calls[-1][1:] == (3, 3)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


def test_the_command_writes_the_page(folder, tmp_path, capsys):
    assert main(["report", str(folder), "--out", str(tmp_path / "mine.html")]) == 0
    assert f"The page is {tmp_path / 'mine.html'}" in capsys.readouterr().out
    assert (tmp_path / "mine.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_default_path_is_in_the_results_folder(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=1, steps=50, points=5)], tmp_path)
    assert write_page(tmp_path) == tmp_path / "report.html"
    first = (tmp_path / "report.html").read_bytes()
    assert len(first) < 1_000_000
    assert write_page(tmp_path).read_bytes() == first  # overwrites the first page


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{none}"], "There is no results folder"),
        (["{empty}"], "is not a results folder"),
        (["{new}"], "has no results yet"),
        (["{folder}", "--out", "{none}/page.html"], "does not exist"),
        (["{folder}", "--out", "{empty}"], "is a folder; give the path of a file"),
        (["{folder}", "--otu", "x"], "Did you mean '--out'"),
    ],
)
def test_bad_input_is_one_line(words, complaint, folder, tmp_path, capsys):
    places = {name: tmp_path / name for name in ("none", "empty", "new")}
    places["empty"].mkdir()
    monmdp.study.store.Store(places["new"], create=True)
    given = [word.format(folder=folder, **places) for word in words]
    assert main(["report", *given]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert err.count("\n") == 1


def test_damaged_files_are_named(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive", "UCB"], seeds=1, steps=50, points=5)], tmp_path)
    damaged = next((tmp_path / "curves/Loop/Full/UCB").iterdir())
    damaged.write_bytes(b"no Parquet")
    data = page_data(Results(tmp_path), (), None)
    assert [agent["name"] for agent in data["agents"]] == ["Naive"]
    assert "1 damaged files were ignored" in data["notes"][-1]
    assert damaged.name in data["notes"][-1]
