"""The page that compares agents with networks says what is in the folder; agents with tables stand in for them."""

import dataclasses
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from PIL import Image

import monmdp
from monmdp.gym.worlds import WORLDS
from monmdp.paper.presets import PRESETS

DOCS = Path(__file__).parents[2] / "docs"
AGENTS = ["Naive", "Directed", "Oracle", "UCB"]
MONITORS = ["Full", "Ask", "Button(cell=3)"]


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(DOCS))
    try:
        import deep_pages
    finally:
        sys.path.remove(str(DOCS))
    return deep_pages


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results folders of two presets, with the same runs."""
    folder = tmp_path_factory.mktemp("runs")
    monmdp.run_sweep([monmdp.Sweep(["Loop", "Empty"], MONITORS, AGENTS, 5, steps=3000, points=60)], folder / "deep")
    shutil.copytree(folder / "deep", folder / "deep-hard")
    return folder


@pytest.fixture(scope="module")
def page(pages, folder, tmp_path_factory):
    """The text of the page, its folder and the rows of the results."""
    out = tmp_path_factory.mktemp("docs")
    patch = pytest.MonkeyPatch()
    for name, value in (("DIRECTED", "Directed"), ("NAIVE", "Naive"), ("REFERENCES", ("Oracle",)), ("WITHIN", 2000)):
        patch.setattr(pages, name, value)
    patch.setitem(PRESETS, "deep-hard", PRESETS["deep"])
    pages.main(str(folder), out)
    patch.undo()
    return (out / "deep-comparison.md").read_text(), out, monmdp.load(folder / "deep", kind="tables").to_pandas()


class CoinEnv(gymnasium.Env):
    """One step; the second action pays 1, the first 0."""

    observation_space, action_space = Discrete(1), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, float(action), True, False, {}


@dataclass(frozen=True, kw_only=True)
class Coin(monmdp.LiveWorld):
    rewards = (0.0, 1.0)
    steps = 200

    def make(self):
        return CoinEnv()


def test_live_runs_are_normalised(pages, tmp_path, monkeypatch):
    """Directed and Oracle earn 1; random actions earn 0.5, less 0.125 with Ask(cost=0.25)."""
    for name, value in (("DIRECTED", "Directed"), ("REFERENCES", ("Oracle",))):
        monkeypatch.setattr(pages, name, value)
    monkeypatch.setitem(WORLDS._classes, "coin", Coin)
    sweep = monmdp.Sweep(["Coin"], ["Full", "Ask(cost=0.25)"], ["Directed", "Oracle"], seeds=2, points=2)
    monkeypatch.setitem(PRESETS, "deep-foreign", sweep)
    assert monmdp.run_sweep(sweep, tmp_path / "deep-foreign", threads=1).failures == []
    pages.main(str(tmp_path), tmp_path)
    text = (tmp_path / "deep-comparison.md").read_text()
    assert "monmdp reproduce --preset deep-foreign --out runs/deep-foreign" in text
    assert "Not all runs" not in text
    assert "revision" not in text
    assert "| Coin + Full | 1.00 ± 0.00 | 1.00 ± 0.00 |" in text
    assert "| Coin + Full | 100.0% | 100.0% |" in text
    (row,) = [line for line in text.split("### Returns")[1].split("\n") if line.startswith("| Coin + Ask")]
    _, _, low, own, oracle, _ = (cell.strip() for cell in row.split("|"))
    assert float(low) == pytest.approx(0.375, abs=4 * 0.05)
    assert (own, oracle) == ("1 ± 0", "1 ± 0")
    assert "Directed has at least 95% of Oracle's normalised return in 2 of 2 problems" in " ".join(text.split())


def solved(rows, **names):
    """The fraction of seeds that end solved in one cell."""
    for column, value in names.items():
        rows = rows[rows[column] == value]
    return rows["solved"].mean()


def test_tables_have_the_numbers_of_the_folder(page):
    text, _, rows = page
    table = text.split("### Seeds solved")[1].split("###")[0]
    assert table.split("\n")[2].startswith("| problem | Directed |")
    for environment in ("Loop", "Empty"):
        for monitor in MONITORS:
            (line,) = [line for line in table.split("\n") if line.startswith(f"| {environment} + {monitor} |")]
            shares = [solved(rows, environment=environment, monitor=monitor, agent=a) for a in ("Directed", "UCB")]
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert [cells[1], cells[2]] == [f"{100 * value:.0f}%" for value in shares]


def test_the_goals_follow_from_the_folder(page):
    text, _, rows = page
    text = re.sub(r"\s+", " ", text)
    shares = rows.groupby(["environment", "monitor", "agent"])["solved"].mean().unstack()
    count = int((shares["Directed"] >= 0.95).sum())
    assert f"at least 95% of the seeds at the end of 3,000 steps in {count} of 6 problems" in text
    assert f"at least 90% of the seeds in {int((shares['Directed'] >= 0.9).sum())} of 6 problems" in text
    failing = valid = 0
    for (environment, monitor), agents in shares.iterrows():
        passing = [rival for rival in ("Naive", "UCB") if shares.loc[environment, "Full"][rival] >= 0.95]
        if monitor != "Full" and passing:
            valid, failing = valid + 1, failing + bool(agents[passing].max() <= 0.5)
    assert f"at most 50% of the seeds in {failing} of 4 problems with hidden rewards" in text
    assert f"in {4 - valid} of them, no rival that passes it was run" in text
    assert 0 < failing < 4, "both cases are in the folder"


def test_rivals_that_were_not_run_are_counted(pages, folder, monkeypatch):
    for name, value in (("DIRECTED", "Directed"), ("REFERENCES", ("Oracle",)), ("SOLVED", 0.0)):  # all rivals pass
        monkeypatch.setattr(pages, name, value)
    results = pages.Results(folder / "deep-hard")
    assert "not run" not in pages.hidden(results)
    results.cells = {
        key: cell for key, cell in results.cells.items() if cell.agent != "UCB" or cell.monitor in ("Full", "Ask")
    }
    assert "In 2 others, some rivals that pass it were not run." in pages.hidden(results)


def test_the_ratio_of_answers(page):
    """Answers until solved of both agents, from curves alone."""
    text = page[0]
    ratios = []
    for environment in ("Loop", "Empty"):
        problem, typical = monmdp.make(environment, "Ask"), {}
        for agent in ("Directed", "Naive"):
            curves = monmdp.train(problem, agent, seeds=5, steps=3000, points=60)
            answers = []
            for returns, observed in zip(curves.returns, curves.observed, strict=True):
                wrong = np.flatnonzero(returns < curves.target_return - 1e-6)  # solved after the last of these points
                answers.append(np.append(observed, np.inf)[wrong[-1] + 1])
            typical[agent] = np.median(answers)
        if np.isfinite(list(typical.values())).any():
            ratios.append(typical["Directed"] / typical["Naive"] if np.isfinite(typical["Directed"]) else np.inf)
    assert f"needs {np.median(ratios):.2f} times as many answers as Naive in the median of {len(ratios)}" in re.sub(
        r"\s+", " ", text
    )


def test_sections_without_results_stay(pages, tmp_path):
    page, head, titles = tmp_path / "page.md", "# Head\n", ["one", "two", "three"]
    pages.write_page(page, head, titles, {"three": "\nold\n", "one": "\nold\n\n### part\n"})
    pages.write_page(page, head, titles, {"three": "\nnew\n", "two": "\nnew\n"})
    expected = "# Head\n\n## one\n\nold\n\n### part\n\n## two\n\nnew\n\n## three\n\nnew\n"
    assert page.read_text() == expected
    pages.write_page(page, head, titles, {})
    assert page.read_text() == expected


def test_figures_and_commands(page):
    text, out, _ = page
    made = re.findall(r"^monmdp reproduce --preset (.*)\npython docs/deep_pages.py runs$", text, re.MULTILINE)
    assert [shlex.split(line)[0] for line in made] == ["deep", "deep-hard"]
    for line in made:
        preset, *words = shlex.split(line)
        options = dict(zip(words[::2], words[1::2], strict=True))
        assert {name: set(options.pop(f"--{name}").split(",")) for name in ("agents", "envs", "monitors")} == {
            "agents": set(AGENTS), "envs": {"Loop", "Empty"}, "monitors": set(MONITORS)
        }  # fmt: skip
        assert options == {"--seeds": "5", "--steps": "3000", "--out": f"runs/{preset}"}
    links = re.findall(r"\]\((images/[\w-]+\.png)\)", text)
    assert len(links) == 4
    for link in links:
        with Image.open(out / link) as image:
            assert min(image.size) > 100


def test_nothing_is_written_without_results(pages, tmp_path):
    pages.main(str(tmp_path), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_runs_and_earlier_versions_are_named(pages, page, tmp_path, monkeypatch):
    text, _, _ = page
    assert "Not all runs were made: Directed has results in 6 of 48 problems, with 5 of 30 seeds." in text
    monkeypatch.setattr(pages, "DIRECTED", "Directed")
    given = monmdp.Sweep(["Loop"], ["Full", "Ask", "Button"], ["Directed", "Naive"], seeds=2, steps=50, points=2)
    monkeypatch.setitem(PRESETS, "deep", given)
    monmdp.run_sweep(dataclasses.replace(given, monitors=["Full"]), tmp_path / "deep")
    monmdp.run_sweep(dataclasses.replace(given, monitors=["Ask"], seeds=1), tmp_path / "deep")
    results = pages.Results(tmp_path / "deep")
    results.cell("Loop", "Full", "Naive").settings["trajectories"] -= 1
    today = pages.AGENTS.find("Naive").revision
    missing = "has results in 2 of 3 problems, in 1 of them with 1 instead of 2 seeds.\n"
    assert pages.remarks("deep", results) == [
        *(f"Not all runs were made: {agent} {missing}" for agent in ("Directed", "Naive")),
        f"Runs of Naive in Loop + Full are of its revision {today - 1}, and today's is {today}.\n",
    ]
