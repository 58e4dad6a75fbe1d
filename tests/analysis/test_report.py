"""What goes into the page: packed numbers, safe names, the same values as in the Parquet files."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest
from scipy import stats

import monmdp
from monmdp.cli import main
from monmdp.figures.style import KNOWN, OTHER_COLOURS
from monmdp.paper.claims import check_claims
from monmdp.report import FLAGSHIPS, Flagship, build_page, write_page
from monmdp.report.assembly import assemble, page_data
from monmdp.report.colours import luminance, on_dark
from monmdp.report.inspection import best_actions, inspector_data
from monmdp.report.overview import thinned
from monmdp.report.packing import pack, pack_widths, script_json
from monmdp.study.results import Results
from monmdp.study.snapshots import take_snapshots

METRICS = ("return", "observed", "beta", "visited", "explored")
#: Ground of cards in the dark scheme, as in base.css.
DARK_SURFACE = "#161d27"


def unpacked(packed):
    """What the page's own decoder makes of an array."""
    values = np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}")
    return values * packed.get("scale", 1)


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
def test_arrays_take_as_few_bytes_as_they_need(values, kind):
    packed = pack(values)
    assert packed["type"] == kind
    np.testing.assert_array_equal(unpacked(packed), np.asarray(values, np.float32 if kind == "f4" else None))


def test_widths_lose_less_than_a_pixel():
    widths = np.random.default_rng(0).exponential(size=200)
    np.testing.assert_allclose(unpacked(pack_widths(widths)), widths, atol=widths.max() / 65_535)
    np.testing.assert_allclose(unpacked(pack_widths([np.nan, 2.0])), [0.0, 2.0])
    assert pack_widths([0.0, np.nan]) is None


def test_names_cannot_leave_the_script():
    names = ["</script><script>alert(1)</script>", "<!--", "&amp;", '"quoted"', "line\u2028\u2029break", "Ελλάδα"]
    text = script_json(names)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == names


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


@pytest.mark.parametrize("points", [1, 2, 51, 221, 222, 1_001, 5_000])
def test_few_points_are_kept_with_first_and_last(points):
    kept = thinned(points)
    assert (kept[0], kept[-1]) == (0, points - 1)
    assert len(kept) <= 251
    assert (np.diff(kept) > 0).all()
    if points > 221:
        assert np.diff(kept).max() <= 1 + points / 170
        assert {1, 2, 3} <= set(kept.tolist())  # a logarithmic axis begins early
    else:
        assert len(kept) == points


def test_cells_tell_what_the_parquet_files_say(folder, data):
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
            assert cell["optimum"] == table["optimal_return"].iloc[0]
            assert cell["solved"] == table["solved"].sum()
            assert cell["final"]["mean"] == pytest.approx(table["final_return"].mean())
            half = stats.t.ppf(0.975, 3) * stats.sem(table["final_return"])
            assert cell["final"]["half"] == pytest.approx(half)
            solved = [group.set_index("step")["return"] for _, group in curves[mine].groupby("seed")]
            first = [until(run, cell["optimum"]) for run in solved]
            assert cell["until"] == (float(np.median(first)) if np.isfinite(np.median(first)) else None)
            by_step = curves[mine].groupby("step")
            np.testing.assert_array_equal(unpacked(data["axes"][cell["axis"]]), sorted(by_step.groups))
            for metric in METRICS:
                check_band(cell["curves"][metric], by_step[metric])


def until(run, optimum):
    """The first step from which on a run stays solved, by looking at one after the other."""
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
    drawn = np.zeros(len(half)) if band["half"] is None else unpacked(band["half"])[known]
    np.testing.assert_allclose(drawn, half, atol=max(half.max() / 60_000, 1e-12))


def test_wilson_bounds_solve_their_equation(data):
    for cell in (cell for problem in data["problems"] for cell in problem["cells"] if cell):
        share, z = cell["solved"] / cell["seeds"], stats.norm.ppf(0.975)
        bounds = np.roots([1 + z**2 / 4, -2 * share - z**2 / 4, share**2])
        assert cell["interval"] == pytest.approx(sorted(bounds), abs=1e-12)


def test_a_single_seed_has_no_interval(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=1, steps=50, points=5)], tmp_path)
    cell = page_data(Results(tmp_path), (), None)["problems"][0]["cells"][0]
    assert cell["final"]["half"] is None
    assert cell["curves"]["return"]["half"] is None
    assert cell["curves"]["beta"] is None


def test_runs_without_evaluation_have_no_outcome(tmp_path):
    sweep = monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=2, steps=50, points=5, evaluation="none")
    monmdp.run_sweep([sweep], tmp_path)
    cell = page_data(Results(tmp_path), (), None)["problems"][0]["cells"][0]
    assert [cell[key] for key in ("solved", "interval", "final", "until")] == [None] * 4
    assert cell["curves"]["return"] is None
    assert cell["curves"]["observed"] is not None


def test_cells_of_the_same_names_keep_their_own_steps(tmp_path):
    for steps in (50, 80):
        monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=2, steps=steps, points=5)], tmp_path)
    told = page_data(Results(tmp_path), (), None)
    cells = told["problems"][0]["cells"]
    assert [cell["steps"] for cell in cells] == [50, 80]
    assert [unpacked(told["axes"][cell["axis"]])[-1] for cell in cells] == [50, 80]


def test_claims_are_those_of_the_claims_command(folder, data):
    assert [(told["claim"], told["verdict"], len(told["details"])) for told in data["claims"]] == [
        (claim.claim, claim.verdict, len(claim.details)) for claim in check_claims(Results(folder))
    ]


@pytest.mark.parametrize("colour", [*(style.colour for style in KNOWN.values()), *OTHER_COLOURS])
def test_agents_stand_out_from_dark_ground(colour):
    def light(text):
        return luminance([int(text[i : i + 2], 16) for i in (1, 3, 5)])

    assert (light(on_dark(colour)) + 0.05) / (light(DARK_SURFACE) + 0.05) >= 4.5


def test_best_actions_are_bits_with_ties():
    values = np.array([[[1.0, 3.0, 3.0], [np.nan, np.nan, np.nan], [2.0, 2.0, 2.0 - 1e-12], [np.nan, 1.0, 0.0]]])
    np.testing.assert_array_equal(best_actions(values), [[0b110, 0, 0b111, 0b010]])
    np.testing.assert_array_equal(best_actions(np.zeros((2, 3, 32))), np.full((2, 3), 2**32 - 1))
    np.testing.assert_array_equal(best_actions(np.zeros((2, 3, 33))), np.zeros((2, 3)))


def test_the_inspector_shows_the_run_that_was_trained():
    flagship = Flagship("Walk", "Button", "", ("Directed", "Naive"), steps=600)
    (told,) = inspector_data([flagship], lambda: None)
    problem = monmdp.make("Walk", "Button")
    assert (told["name"], told["tiles"], told["landmarks"]) == ("Walk + Button", ["c.....C"], {"1": "button"})
    for run in told["runs"]:
        seen = take_snapshots(problem, run["agent"], steps=600)
        assert run["optimum"] == seen.optimal_return
        for name, expected in {
            "steps": seen.steps, "states": seen.states, "visits": seen.visits.sum(-1), "known": seen.reward_counts,
            "returns": seen.returns, "observed": seen.observed, "explored": seen.explored,
        }.items():  # fmt: skip
            np.testing.assert_allclose(unpacked(run[name]), expected.ravel(), rtol=1e-6, err_msg=name)
    directed, naive = told["runs"]
    seen = take_snapshots(problem, "Directed", steps=600)
    np.testing.assert_array_equal(unpacked(directed["goals"]) - 1.0, seen.goals)
    assert directed["betaBar"] == 0.01
    assert [naive[name] for name in ("goals", "goalBest", "goalValues", "beta", "betaBar")] == [None] * 5


def test_problems_without_places_are_not_drawn():
    assert inspector_data([Flagship("Taxi-v4", "Full", "", ("Naive",), steps=10)], lambda: None) == []


def test_flagships_can_all_be_built_and_drawn():
    for flagship in FLAGSHIPS:
        assert monmdp.make(flagship.environment, flagship.monitor).environment.layout is not None


def test_the_page_allows_itself_and_nothing_else(data):
    page = assemble(data, "results")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    for kind, tag in (("script", "<script>"), ("style", "<style>")):
        text = page.split(tag, 1)[1].split(f"</{kind}>", 1)[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}


def test_names_that_look_like_slots_stay_names(data):
    page = assemble({**data, "folder": "{{script}} {{"}, "{{data}} <b>&")
    assert "<title>{{data}} &lt;b&gt;&amp; · monmdp report</title>" in page
    told = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(told)["folder"] == "{{script}} {{"


def test_progress_reaches_its_end(folder):
    told = []
    build_page(Results(folder), (), lambda *step: told.append(step))
    assert told[-1][1:] == (3, 3)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_the_command_writes_where_it_says(folder, tmp_path, capsys):
    assert main(["report", str(folder), "--out", str(tmp_path / "mine.html")]) == 0
    assert f"The page is {tmp_path / 'mine.html'}" in capsys.readouterr().out
    assert (tmp_path / "mine.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_by_default_the_page_lies_in_the_folder(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full"], ["Naive"], seeds=1, steps=50, points=5)], tmp_path)
    assert write_page(tmp_path) == tmp_path / "report.html"
    first = (tmp_path / "report.html").read_bytes()
    assert len(first) < 1_000_000
    assert write_page(tmp_path).read_bytes() == first  # a second time, over the first


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{none}"], "There is no results folder"),
        (["{empty}"], "is not a results folder"),
        (["{new}"], "has no results yet"),
        (["{folder}", "--out", "{none}/page.html"], "does not exist"),
        (["{folder}", "--out", "{empty}"], "is a folder; name a file"),
        (["{folder}", "--otu", "x"], "See monmdp report --help"),
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
    victim = next((tmp_path / "curves/Loop/Full/UCB").iterdir())
    victim.write_bytes(b"no Parquet")
    told = page_data(Results(tmp_path), (), None)
    assert [agent["name"] for agent in told["agents"]] == ["Naive"]
    assert victim.name in told["damaged"][0]
