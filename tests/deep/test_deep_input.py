"""What agents with networks are given: observations, options, bins, and the packages and devices that they need."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")
pytest.importorskip("optax", reason="the extra deep is not installed")

import jax

import monmdp
from monmdp import MonMDPError
from monmdp.deep import agents
from monmdp.deep.observations import OBSERVATIONS, observations
from monmdp.protocol import paper_job


@pytest.mark.parametrize(
    ("observe", "message"),
    [
        (
            lambda problem, state: np.zeros(1 + state % 2),
            "one shape, but that of state .* has \\(2,\\), and .*\\(1,\\)",
        ),
        (lambda problem, state: [0.0, np.nan], "has a number that is NaN or infinite"),
        (lambda problem, state: "picture", "must be an array of numbers, not 'picture'"),
        (lambda problem, state: [], "at least one number"),
        (lambda problem, state: 1 / 0, "ZeroDivisionError"),
        ("pictures", "Did you mean 'pixels'"),
        (7, "or a function \\(problem, state\\) → array, not 7"),
    ],
)
def test_bad_observations(problem, observe, message):
    with pytest.raises(MonMDPError, match=message):
        monmdp.train(problem, "DeepDirected", observe=observe, steps=10)


def test_bins_by_the_range_of_values():
    """Values reach down to −2, as with a cost of 0.2 for ever and γ = 0.9, and rewards only to 0."""
    curves = monmdp.train(
        monmdp.make("Loop", "Ask", discount=0.9),
        "DeepNaive(bins=None, hidden=(8,), batch=4)",
        steps=20,
        seeds=1,
        points=1,
    )
    policy = curves.policy()
    gaps = np.diff(np.sign(policy.bins) * np.log1p(np.abs(policy.bins)))
    assert gaps.max() < 0.0201
    assert -4.0 < policy.bins[0] < -2.0
    assert 1.0 < policy.bins[-1] < 1.5
    table = observations(curves.problem, "pixels").table
    np.testing.assert_allclose(policy.q(table, np.zeros(len(table), int)), curves.q[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("options", ["hidden=7", "hidden=()", "hidden=(0,)", "batch=0", "bins=1", "learning_rate=0",
                                     "balance=2", "epsilon=2", "colour=1"])  # fmt: skip
def test_bad_options(problem, options):
    with pytest.raises(MonMDPError, match="k = 5 must be at most n = 4"):
        agents.DeepCautious(k=5, n=4)
    with pytest.raises(MonMDPError, match=options.partition("=")[0]):
        monmdp.train(problem, f"DeepDirected({options})", steps=10)


@pytest.mark.parametrize("name", list(OBSERVATIONS))
@pytest.mark.parametrize("environment", ["Empty", "RiverSwim", "Garnet(seed=1)", "Corridor"])
def test_observations_distinguish_states(environment, name):
    table, noise, _ = observations(
        monmdp.make(environment, "Button" if environment != "Garnet(seed=1)" else "Ask"), name
    )
    assert len(np.unique(table, axis=0)) == len(table)
    assert np.abs(table).max() <= 1.0
    assert (noise > 0) == (name == "noisy pixels")


def test_a_function_of_a_user_is_part_of_the_identity(problem):
    jobs = [paper_job(problem, agents.DeepNaive(observe=lambda p, s, k=k: [s * k]), 10) for k in (1, 2)]
    assert jobs[0].run_settings["agent_options"]["observe"].startswith("function ")


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="JAX has a GPU here")
def test_a_gpu_that_jax_does_not_have(problem):
    with pytest.raises(MonMDPError, match="JAX finds no GPU here"):
        monmdp.train(problem, "DeepNaive", steps=10, device="cuda")


def test_without_the_extra_one_sentence_says_what_to_install(problem, monkeypatch):
    monkeypatch.setattr(agents, "find_spec", lambda name: None)
    with pytest.raises(
        MonMDPError, match=r"DeepNaive needs JAX and Optax; install them with: pip install 'monmdp\[deep\]'"
    ):
        monmdp.train(problem, "DeepNaive", steps=10)


def test_nothing_else_imports_jax():
    code = """if True:
        import sys, monmdp
        monmdp.AGENTS.find("DeepDirected")
        monmdp.train(monmdp.make("Loop", "Ask"), "Naive", steps=10)
        assert not {"jax", "optax", "monmdp.deep.job"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True)
