"""The page that compares agents with networks says what is in the folder; agents with tables stand in for them."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import monmdp
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
def page(pages, tmp_path_factory):
    """The text of the page, its folder and the rows of the results."""
    folder, out = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("docs")
    patch = pytest.MonkeyPatch()
    for name, value in (("DIRECTED", "Directed"), ("NAIVE", "Naive"), ("REFERENCES", ("Oracle",)), ("WITHIN", 2000)):
        patch.setattr(pages, name, value)
    patch.setitem(PRESETS, "deep-hard", PRESETS["deep"])
    monmdp.run_sweep([monmdp.Sweep(["Loop", "Empty"], MONITORS, AGENTS, 5, steps=3000, points=60)], folder / "deep")
    shutil.copytree(folder / "deep", folder / "deep-hard")
    pages.main(str(folder), out)
    patch.undo()
    return (out / "deep-comparison.md").read_text(), out, monmdp.load(folder / "deep", kind="tables").to_pandas()


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
