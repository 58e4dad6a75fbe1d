"""Seeds are whole numbers below 2⁶³ everywhere: larger ones would repeat the streams of others, or fit in no file."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import rng
from monmdp.cli import main
from monmdp.monitors import RandomPair
from monmdp.simulation import Simulation
from monmdp.study.snapshots import take_snapshots

WRONG = (2**63, 2**64, -1, 1.0, "1", True, None)
PROBLEM = monmdp.make("Loop", "Ask")
USES = {
    "train": lambda seed: monmdp.train(PROBLEM, "Naive", [seed], steps=50),
    "record": lambda seed: monmdp.record(PROBLEM, lambda problem, seed: None, steps=50, seeds=[seed]),
    "run_sweep": lambda seed: monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], ["Naive"], [0, seed], steps=50), "r"),
    "take_snapshots": lambda seed: take_snapshots(PROBLEM, "Naive", seed, steps=50),
    "Simulation": lambda seed: Simulation(PROBLEM, seed),
    "stream": lambda seed: rng.stream(seed, "world"),
    "RandomPair": lambda seed: RandomPair(seed=seed),
}


@pytest.mark.parametrize("seed", WRONG)
@pytest.mark.parametrize("use", USES)
def test_wrong_seeds(use, seed, tmp_path, monkeypatch):
    """One sentence, before anything is trained or written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(monmdp.MonMDPError, match=r"[Ss]eed"):
        USES[use](seed)
    assert list(tmp_path.iterdir()) == []


def test_environments():
    env = gymnasium.make("monmdp/Loop-v0", monitor="Ask")
    envs = gymnasium.make_vec("monmdp/Loop-v0", num_envs=2, monitor="Ask")
    for reset in (env.reset, envs.reset):
        with pytest.raises(monmdp.MonMDPError, match="seed"):
            reset(seed=2**63)


def test_the_largest_seed(tmp_path):
    """It is trained, saved and found again."""
    sweep = monmdp.Sweep(["Loop"], ["Ask"], ["Naive"], [np.int64(2**63 - 1)], steps=50, points=5)
    assert monmdp.run_sweep(sweep, tmp_path).done == 1
    assert monmdp.run_sweep(sweep, tmp_path).skipped == 1
    assert set(monmdp.load(tmp_path).column("seed").to_pylist()) == {2**63 - 1}


def test_watch(capsys):
    assert main(["watch", "Loop", "Ask", "--agent", "Naive", "--seed", str(2**64), "--steps", "10"]) == 2
    assert "The seed must be at most" in capsys.readouterr().err
