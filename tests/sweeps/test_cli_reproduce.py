"""`monmdp reproduce`: plans, parts of a preset, and output."""

from __future__ import annotations

import re

import pytest
from sweeping import TINY, TINY_WORDS, end, file_bytes, finished, output_of, start

import monmdp
from monmdp.cli.reproduce import split


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")


def plan(out: str) -> dict[str, str]:
    """The table of a dry run."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines()[1:])


def test_dry_run_of_the_paper(tmp_path, capsys):
    rows = plan(output_of(capsys, "reproduce", "--dry-run", "--out", str(tmp_path / "r")))
    assert rows["cells"] == "288"
    assert rows["runs to do"] == "28,800"
    assert rows["steps to do"] == "2,109,000,000"
    assert re.fullmatch(r"about [\d.]+ [KMG]iB at most", rows["memory"])
    assert re.fullmatch(r"about [\d,]+ s on \d+ cores", rows["time"])
    assert not (tmp_path / "r").exists()


def test_dry_run_of_what_is_left(tmp_path, capsys):
    """The plan counts both files of a cell, as the sweep does."""
    words = ("--envs", "Walk", "--monitors", "Full", "--agents", "Naive", "--steps", "100", "--points", "5")
    output_of(capsys, "reproduce", *words, "--seeds", "30", "--out", str(tmp_path))
    before = file_bytes(tmp_path)
    assert len(finished(tmp_path)) == 2
    rows = plan(output_of(capsys, "reproduce", *words, "--seeds", "40", "--dry-run", "--out", str(tmp_path)))
    assert file_bytes(tmp_path) == before
    assert rows["runs done already"] == "30"
    assert rows["runs to do"] == "10"
    assert rows["steps to do"] == "1,000"


def test_dry_run_of_a_shard(tmp_path, capsys):
    words = ("--preset", "quick", "--dry-run", "--out", str(tmp_path / "r"))
    runs = [
        int(plan(output_of(capsys, "reproduce", *words, "--shard", f"{index}/4"))["runs to do"].replace(",", ""))
        for index in range(1, 5)
    ]
    assert sum(runs) == 24 * 6 * 20
    assert min(runs) > 0


def test_dry_run_into_an_empty_folder(tmp_path, capsys):
    """A sweep accepts an empty folder, so the plan does."""
    assert plan(output_of(capsys, "reproduce", *TINY_WORDS, "--dry-run", "--out", str(tmp_path)))["runs to do"] == "24"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, None),
        ("Loop", ["Loop"]),
        ("Loop,OneWay", ["Loop", "OneWay"]),
        (" Loop , OneWay,", ["Loop", "OneWay"]),
        ("Empty(rows=3, columns=4),Loop", ["Empty(rows=3, columns=4)", "Loop"]),
        (
            "Ask(cost=0.5, never_observable=[(0, 1), (0, 2)]),Level",
            ["Ask(cost=0.5, never_observable=[(0, 1), (0, 2)])", "Level"],
        ),
        ("Naive(epsilon=(1.0, 0.0)),UCB(epsilon=[0.5, 0])", ["Naive(epsilon=(1.0, 0.0))", "UCB(epsilon=[0.5, 0])"]),
    ],
)
def test_names_are_split_at_commas_outside_brackets(text, names):
    assert split(text) == names


def test_parts_of_a_preset(tmp_path, capsys):
    """Names with options, in upper or lower case, replace the rows of the preset."""
    out = output_of(
        capsys, "reproduce", "--preset", "quick", "--envs", "empty(rows=3, columns=3),Walk", "--monitors",
        "ask(cost=0.5),Full", "--agents", "Naive(epsilon=(0.5, 0.1)),Directed(beta_bar=0.1)", "--seeds", "2",
        "--steps", "100", "--points", "5", "--out", str(tmp_path),
    )  # fmt: skip
    assert "16 runs in" in out
    frame = monmdp.load(tmp_path).to_pandas()
    assert set(frame["environment"]) == {"Empty(rows=3, columns=3)", "Walk"}
    assert set(frame["monitor"]) == {"Ask(cost=0.5)", "Full"}
    assert set(frame["agent"]) == {"Naive(epsilon=(0.5, 0.1))", "Directed(beta_bar=0.1)"}
    assert set(frame["seed"]) == {0, 1}
    assert frame["step"].max() == 100


def test_a_sweep_file(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(
        '[[sweep]]\nenvironments = ["Loop", "Walk"]\nmonitors = ["Full", "Ask"]\nagents = ["Naive", "Directed"]\n'
        "seeds = 3\nsteps = 300\npoints = 10\n"
    )
    output_of(capsys, "reproduce", "--sweep", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "file"))
    output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(tmp_path / "words"))
    monmdp.run_sweep([TINY], tmp_path / "python")
    assert file_bytes(tmp_path / "file") == file_bytes(tmp_path / "words") == file_bytes(tmp_path / "python")


def test_folder_names_with_brackets(tmp_path, capsys):
    """Square brackets in a path are not markup."""
    folder = tmp_path / "runs [bold] of [red]today"
    for _ in range(2):
        assert str(folder) in output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
    assert "[bold]of[red]today" in "".join(output_of(capsys, "results", str(folder)).split())


def test_no_progress_bar_on_a_pipe(tmp_path):
    """Log files get lines without control characters; nothing goes to stderr."""
    code, out, err = end(start("reproduce", *TINY_WORDS, "--out", str(tmp_path)))
    assert (code, err) == (0, "")
    assert re.search("^24 runs in ", out, re.MULTILINE)
    assert "Joining" not in out  # no cluster is asked for
    assert "\x1b" not in out
    assert "\r" not in out
