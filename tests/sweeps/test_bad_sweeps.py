"""An invalid sweep gives one clear line and exit code 2, before anything is trained or written."""

from __future__ import annotations

import json

import pytest
from sweeping import TINY_WORDS, error_of, file_bytes

import monmdp
from monmdp.study import executors


@pytest.fixture
def idle(monkeypatch):
    """Fail if anything is trained."""
    monkeypatch.setattr(executors.Threads, "train", lambda *_: pytest.fail("the sweep was started"))


def refused(capsys, tmp_path, *words: str) -> str:
    """The one line; the folder is not created."""
    message = error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), *words)
    assert not (tmp_path / "r").exists()
    return message


@pytest.mark.parametrize(
    ("words", "culprit", "hint"),
    [
        (("--agents", "Naive,Directd"), "'Directd'", "'Directed'"),
        (("--envs", "Empty,Lop"), "'Lop'", "'Loop'"),
        (("--monitors", "Asc"), "'Asc'", "'Ask'"),
        (("--agents", "Directed(beta=1)"), "'beta'", "'beta_bar'"),
        (("--monitors", "Ask(price=1)"), "'price'", "cost"),
        (("--envs", "Walk"), "Walk + Full", "number of training steps"),
        (("--envs", ","), "environments", "at least one"),
        (("--preset", "papr"), "'papr'", "'paper'"),
        (("--seeds", "0"), "0", "seeds"),
        (("--steps", "-5"), "-5", "steps"),
        (("--steps", "10", "--points", "11"), "11", "10"),
        (("--points", "0"), "0", "points"),
        (("--shard", "5/4"), "5", "1 to 4"),
        (("--on", "mars"), "'mars'", "ray"),
        (("--on", "ray:nowhere"), "'nowhere'", "host:port"),
        (("--sweep", "/nonexistent.toml"), "/nonexistent.toml", "No such file"),
        (("--sweep", "/"), "/", "directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_arguments(idle, capsys, tmp_path, words, culprit, hint):
    message = refused(capsys, tmp_path, *words)
    assert culprit in message
    assert hint in message


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("[[sweep]]\nagents = [", "not a TOML file"),
        ("", "[[sweep]]"),
        ("[sweep]\nseeds = 3", "[[sweep]]"),
        ("[[sweep]]\nseeds = 3\n[[other]]\nseeds = 3", "[[sweep]]"),
        ("sweep = []", "[[sweep]]"),
        ("sweep = [1]", "[[sweep]]"),
        ("[[sweep]]\ncolour = 3", "'colour'"),
        ('[[sweep]]\nagents = ["Naive", "Directd"]', "'Directd'"),
        ('[[sweep]]\nagents = "Naive"', "'Naive'"),
        ("[[sweep]]\nagents = []", "agents"),
        ("[[sweep]]\nagents = [5]", "5"),
        ("[[sweep]]\nenvironments = [5]", "5"),
        ("[[sweep]]\nmonitors = [5]", "5"),
        ("[[sweep]]\nseeds = 'ten'", "seed"),
        ("[[sweep]]\nseeds = 1.5", "1.5"),
        ("[[sweep]]\nseeds = [1, 1]", "twice"),
        ("[[sweep]]\nseeds = [-1]", "-1"),
        ("[[sweep]]\nseeds = []", "seed"),
        ("[[sweep]]\nsteps = 'many'", "'many'"),
        ("[[sweep]]\npoints = true", "True"),
        ("[[sweep]]\nevaluation = 'exactly'", "'exactly'"),
        ("[[sweep]]\ndiscount = 'high'", "'high'"),
        ("[[sweep]]\ndiscount = [0.9]", "0.9"),
        ("[[sweep]]\ndiscount = 1.0", "1.0"),
        ("[[sweep]]\ndiscount = nan", "nan"),
    ],
)
def test_invalid_files(idle, capsys, tmp_path, text, culprit):
    (tmp_path / "bad.toml").write_text(text)
    assert culprit in refused(capsys, tmp_path, "--sweep", str(tmp_path / "bad.toml"))


def test_a_binary_file(idle, capsys, tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert "not a TOML file" in refused(capsys, tmp_path, "--sweep", str(tmp_path / "bad.toml"))


@pytest.mark.parametrize("agent", ["Naive(alpha=2)", "Naive(epsilon=-1)", "Directed(successor_discount=5)"])
def test_options_out_of_range_fail_before_the_first_run(idle, capsys, tmp_path, agent):
    """Not once per seed, after the rest of the sweep."""
    words = ("--envs", "Loop", "--monitors", "Full", "--steps", "100", "--agents", f"UCB,{agent}")
    refused(capsys, tmp_path, *words)


@pytest.mark.parametrize("threads", ["0", "-1"])
def test_invalid_number_of_threads(capsys, tmp_path, threads):
    """As for `train`: a number of threads is at least 1."""
    assert threads in error_of(capsys, "reproduce", *TINY_WORDS, "--out", str(tmp_path), "--threads", threads)


def test_folders_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        message = error_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
        assert f"{folder}/monmdp.json cannot be written" in message
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_of_another_format(capsys, tmp_path):
    (tmp_path / "monmdp.json").write_text(json.dumps({"format": 99}))
    before = file_bytes(tmp_path)
    for words in (("reproduce", *TINY_WORDS, "--out"), ("reproduce", *TINY_WORDS, "--dry-run", "--out"), ("results",)):
        message = error_of(capsys, *words, str(tmp_path))
        assert "format 99" in message
        assert "format 1" in message
    with pytest.raises(monmdp.MonMDPError, match="format 99"):
        monmdp.load(tmp_path)
    assert file_bytes(tmp_path) == before
