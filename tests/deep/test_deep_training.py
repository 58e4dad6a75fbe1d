"""Agents with networks as a user trains them: learning from pixels, hidden rewards, seeds, sweeps and bad input."""

import dataclasses
import json
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")
pytest.importorskip("optax", reason="the extra deep is not installed")

import jax

import monmdp
from monmdp import MonMDPError, Sweep
from monmdp.agents.base import DEEP
from monmdp.cli import main
from monmdp.deep import agents
from monmdp.deep.job import DeepJob
from monmdp.deep.observations import OBSERVATIONS, observations
from monmdp.exact.structure import hidden_env_outcomes
from monmdp.paper.presets import preset
from monmdp.protocol import paper_job
from monmdp.study.sweep import requested
from monmdp.training.metrics import METRICS

#: One size of everything, so that one program is compiled for each of two kinds of agents.
STEPS, SMALL = 1000, "hidden=(64,), learning_rate=0.002, batch=32, tracking=0.1"
DIRECTED = f"DeepDirected({SMALL})"
#: A run that is cut short.
EARLY = np.array([0, 60])
RIVALS = [name for name in DEEP if name != "DeepDirected"]


@pytest.fixture(autouse=True, scope="module")
def two_lanes():
    """Two seeds in a program, as on an accelerator, where there are more."""
    before = DeepJob.lanes
    DeepJob.lanes = 2
    yield
    DeepJob.lanes = before


@pytest.fixture(scope="module")
def problem():
    return monmdp.make("Loop", "Ask", discount=0.9)


@pytest.fixture(scope="module")
def curves(problem):
    return monmdp.train(problem, DIRECTED, seeds=2, steps=STEPS, points=10)


def trained(job, seeds, points=EARLY):
    """The final tables and records of some seeds, or their errors."""
    job.point_steps = points
    progress, running = np.zeros((len(seeds), 2), np.int64), np.zeros(1, np.int64)
    results = job.run_together([(job, seed) for seed in seeds], list(progress), running)
    return [result if isinstance(result, Exception) else (result[0]._asdict(), result[1]) for result in results]


def same(one, other):
    """Whether two results are equal to the last bit."""
    parts = [{**record, "q": tables["q"], "visits": tables["visits"]} for record, tables in (one, other)]
    return all(np.array_equal(parts[0][name], parts[1][name], equal_nan=True) for name in parts[0])


def test_a_small_problem_is_solved_exactly_from_pixels(problem, curves):
    assert curves.final_returns == pytest.approx([problem_optimum(problem)] * 2, abs=1e-9)
    assert curves.solved.all()
    assert (curves.visited[:, -1] == problem.reachable_pairs.sum()).all()


def problem_optimum(problem):
    return monmdp.solve(problem).optimal_return


def test_the_record_agrees_with_the_visit_counts(problem, curves):
    counts, asked = curves.visit_counts, np.arange(problem.n_actions) % 2 == 1
    assert set(curves.recorded) == {metric.attribute for metric in METRICS}
    assert (counts.sum((1, 2)) == STEPS).all()
    assert (curves.visited[:, -1] == (counts > 0).sum((1, 2))).all()
    assert (curves.observed[:, -1] == counts[:, :, asked].sum((1, 2))).all()
    np.testing.assert_allclose(curves.paid[:, -1], 0.2 * counts[:, :, asked].sum((1, 2)))
    coins = counts[:, 8, 8:].sum(1)  # STAY at the coin, asking or not
    np.testing.assert_allclose(curves.collected[:, -1], coins - curves.paid[:, -1])
    env = counts[:, :, asked] + counts[:, :, ~asked]
    answers = 10 * counts[:, :, asked].astype(float)  # rewards are always the same
    answers[answers >= np.log(STEPS + 2) / 0.3] = np.inf
    np.testing.assert_allclose(curves.beta[:, -1], np.log(STEPS + 2) / np.minimum(env, answers).min((1, 2)), rtol=1e-6)
    assert curves.reward_model.shape == (2, 45)
    assert curves.reward_model[:, 44] == pytest.approx([1.0, 1.0], abs=0.1)


def test_a_seed_does_not_depend_on_other_seeds_points_or_the_time_of_day(problem, curves):
    job = paper_job(problem, DIRECTED, STEPS, 10)
    (alone,), together = trained(job, [1]), trained(job, [6, 1])
    assert same(alone, together[1])
    assert not same(alone, together[0])
    assert same(alone, trained(job, [7, 1])[1])  # two seeds for one place: one after the other
    again = monmdp.train(problem, DIRECTED, seeds=[1], steps=STEPS, points=3)
    assert np.array_equal(again.q[0], curves.q[1], equal_nan=True)
    assert np.array_equal(again.visit_counts[0], curves.visit_counts[1])


@pytest.mark.parametrize("name", list(DEEP))
def test_rewards_that_are_not_shown_change_nothing(problem, name):
    job, poisoned = (paper_job(problem, f"{name}({SMALL})", STEPS, 10) for _ in range(2))
    hidden = job.world.observe_probability == 0
    poisoned.world = job.world._replace(env_reward=np.where(hidden, 99.0, job.world.env_reward))
    (clean,), (other,) = trained(job, [0]), trained(poisoned, [0])
    clean[0].pop("collected"), other[0].pop("collected"), clean[0].pop("returns"), other[0].pop("returns")
    assert same(clean, other) == (name != "DeepOracle")


@pytest.mark.parametrize("name", ["DeepDirected", "DeepNaive"])
def test_rewards_that_can_never_be_shown_give_no_bounds_or_bins(name):
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    hidden = hidden_env_outcomes(problem)
    assert hidden.any()
    table = dataclasses.replace(problem.environment, reward=np.where(hidden, 77.0, problem.environment.reward))
    numbers = [
        paper_job(changed, f"{name}({SMALL})", STEPS, 10).numbers
        for changed in (problem, dataclasses.replace(problem, environment=table))
    ]
    assert all(np.array_equal(one, other) for one, other in zip(*numbers, strict=True))


def test_rivals_learn_differently(problem):
    distinct = [name for name in RIVALS if name != "DeepOracle"]  # equal to DeepZero while it finds no coin
    values = {name: trained(paper_job(problem, f"{name}({SMALL})", STEPS, 10), [0])[0][1]["q"] for name in distinct}
    assert len({value.tobytes() for value in values.values()}) == len(distinct)
    assert all(np.isfinite(value).all() for value in values.values())


def test_every_option_reaches_the_program(problem):
    other = {
        "observe": "one-hot", "epsilon": 0.5, "hidden": (16,), "learning_rate": 0.1, "last_learning_rate": 0.5,
        "batch": 7, "every": 3, "balance": 0.1, "tracking": 0.3, "bins": 9, "minimum_reward": -3.0, "beta_bar": 0.9,
        "goal_discount": 0.5, "goal_steps": 5, "bonus": 0.7, "pooled": False,
    }  # fmt: skip

    def program(agent):
        job = paper_job(problem, agent, 10)
        return job.plan, [np.asarray(number).tobytes() for number in job.numbers]

    for kind in (agents.DeepDirected, agents.DeepIntrinsic):
        for field in dataclasses.fields(kind):
            assert program(kind(**{field.name: other[field.name]})) != program(kind()), field.name


def test_a_saved_policy_acts_as_the_greedy_policy_in_every_state(problem, curves, tmp_path):
    table, _, shape = observations(problem, "pixels")
    env_states, monitor_states = np.divmod(np.arange(problem.n_states), len(problem.monitor.states))
    for row, seed in enumerate(curves.seeds):
        curves.policy(seed).save(tmp_path / "policy.npz")
        policy = monmdp.load_policy(tmp_path / "policy.npz")
        assert (policy.seed, policy.shape, len(policy.actions)) == (seed, shape, problem.n_actions)
        assert policy.actions[0] == problem.action_label(0)
        actions = [policy(table[e].reshape(shape), int(m)) for e, m in zip(env_states, monitor_states, strict=True)]
        reachable = problem.reachable
        assert np.array_equal(np.array(actions)[reachable], curves.q[row].argmax(1)[reachable])
        np.testing.assert_allclose(policy.q(table[env_states], monitor_states)[reachable], curves.q[row][reachable],
                                   rtol=1e-3, atol=1e-4)  # fmt: skip


def test_a_saved_policy_needs_neither_jax_nor_the_problem(problem, curves, tmp_path):
    curves.policy().save(tmp_path / "policy.npz")
    picture = observations(problem, "pixels").table[0]
    code = f"""if True:
        import sys, monmdp, numpy as np
        sys.modules["jax"] = sys.modules["optax"] = None
        print(monmdp.load_policy({str(tmp_path / "policy.npz")!r})(np.array({picture.tolist()})))"""
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(result.stdout) == curves.q[0, 0].argmax()


def test_only_training_keeps_policies(problem, curves, tmp_path):
    with pytest.raises(MonMDPError, match="Seed 9 was not run"):
        curves.policy(9)
    curves.save(tmp_path / "curves.npz")
    again = monmdp.Curves.load(tmp_path / "curves.npz")
    tabular = monmdp.train(problem, "Naive", steps=10)
    for without in (again, tabular):
        with pytest.raises(MonMDPError, match="These curves have no networks"):
            without.policy()
    assert trained(paper_job(problem, DIRECTED, STEPS, 10), [0])[0][1]["policy"] is None  # as in a sweep


def test_bad_files_of_policies_are_refused(curves, tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("code was run",)

    path, policy = tmp_path / "policy.npz", curves.policy()
    policy.save(path)
    good = dict(np.load(path))
    about = json.loads(str(good["about"]))

    def described(**changes):
        return {"about": json.dumps({**about, **changes})}

    changes = {
        "format": described(format="monmdp policy 2"),
        "fewer actions": described(actions=about["actions"][:-1]),
        "other observations": described(shape=[2, 3]),
        "more monitor states": described(monitor_states=["a", "b"]),
        "no layers": described(layers=0),
        "more layers": described(layers=3),
        "no list": described(shape=7),
        "unknown field": described(colour=1),
        "not JSON": {"about": "{"},
        "a shape": {"weights_0": good["weights_0"][:, :-1]},
        "not finite": {"bias_1": good["bias_1"] * np.nan},
        "not numbers": {"bins": np.array(["a"] * len(good["bins"]))},
        "more arrays": {"other": np.zeros(3)},
        "a pickle": {"mean": np.array([Evil()], object)},
    }
    for name, changed in changes.items():
        np.savez(path, **{**good, **changed})
        with pytest.raises(MonMDPError, match=r"policy\.npz is not a file of a policy: "):
            pytest.fail(f"{name}: {monmdp.load_policy(path)}")
    curves.save(path)
    with pytest.raises(MonMDPError, match="is not a file of a policy"):
        monmdp.load_policy(path)
    path.write_bytes(b"something else")
    with pytest.raises(MonMDPError, match="is not a file of a policy"):
        monmdp.load_policy(path)
    with pytest.raises(MonMDPError, match="There is no file"):
        monmdp.load_policy(tmp_path / "nothing.npz")
    with pytest.raises(MonMDPError, match=r"saved as \.npz, not '\.pkl'"):
        policy.save(tmp_path / "policy.pkl")


def test_policies_refuse_other_observations(curves):
    policy = curves.policy()
    right = np.zeros(policy.shape)
    for observation, state, message in [
        (right[:-1], 0, "takes observations of shape"),
        (right.transpose(2, 0, 1), 0, "takes observations of shape"),
        (0.0, 0, "takes observations of shape"),
        ("picture", 0, "must be an array of numbers"),
        (right * np.nan, 0, "NaN or infinite"),
        (right, 1, "a whole number from 0 to 0"),
        (right, -1, "a whole number from 0 to 0"),
        (right, 0.5, "a whole number from 0 to 0"),
    ]:
        with pytest.raises(MonMDPError, match=message):
            policy(observation, state)
    with pytest.raises(MonMDPError, match="Every observation needs a monitor state"):
        policy.q(np.zeros((2, *policy.shape)), [0])


def test_sweeps_resume_with_the_same_rows(curves, tmp_path):
    sweep = Sweep(["Loop"], ["Ask"], [DIRECTED], seeds=[0], steps=STEPS, points=10, discount=0.9)
    assert monmdp.run_sweep(sweep, tmp_path).done == 1
    longer = monmdp.run_sweep(dataclasses.replace(sweep, seeds=[0, 1]), tmp_path)
    assert (longer.skipped, longer.done, longer.failures) == (1, 1, [])
    table = monmdp.load(tmp_path).sort_by([("seed", "ascending"), ("step", "ascending")])
    assert table["return"].to_numpy().reshape(2, -1).tolist() == curves.returns.tolist()
    assert table["observed"].to_numpy().reshape(2, -1).tolist() == curves.observed.tolist()


def test_the_preset_has_the_papers_problems_and_all_agents_from_pixels():
    requests = requested(preset("deep"))
    settings = [request.job.run_settings for request in requests]
    assert len({request.identity for request in requests}) == len(requests) == 48 * len(DEEP)
    assert {one["agent_class"] for one in settings} == set(DEEP)
    assert {(one["steps"], one["agent_options"]["observe"]) for one in settings} == {(20_000, "pixels")}
    assert {request.seeds for request in requests} == {tuple(range(30))}
    assert all(60 < request.seconds / 30 < 240 for request in requests)  # on one core, a run was measured with 101 s


def test_a_job_can_be_stopped_and_sent_to_another_process(problem):
    job = pickle.loads(pickle.dumps(paper_job(problem, DIRECTED, STEPS, 10)))
    progress = np.zeros((2, 2), np.int64)
    job.run_together([(job, 0), (job, 2)], list(progress), np.ones(1, np.int64))
    assert (progress[:, 0] < STEPS).all()


def test_command_line(capsys):
    size = ["--seeds", "1", "--steps", str(STEPS), "--points", "10", "--discount", "0.9"]
    assert main(["train", "Loop", "Ask", "--agent", DIRECTED, "--observe", "pixels", *size, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["solved"] == 1.0
    assert result["agent"] == DIRECTED
    assert main(["train", "Loop", "--agent", "DeepDirected", "--observe", "pixel"]) == 2
    assert "Did you mean 'pixels'?" in capsys.readouterr().err
    assert main(["train", "Loop", "--agent", "Directed", "--observe", "pixels"]) == 2
    assert "Directed has no option 'observe'" in capsys.readouterr().err


def test_a_run_that_diverges_is_an_error_and_is_not_saved(problem, tmp_path):
    def huge(problem, state):
        return np.full(675, 1e18 * 2.0**state)

    agent = dataclasses.replace(monmdp.AGENTS.build(DIRECTED), observe=huge)
    with pytest.raises(MonMDPError, match="seed 0, diverged before step 100: a loss or value is not finite"):
        monmdp.train(problem, agent, steps=STEPS, points=10)
    report = monmdp.run_sweep(
        Sweep(["Loop"], ["Ask"], [agent], seeds=1, steps=STEPS, points=10, discount=0.9), tmp_path
    )
    assert (report.done, len(report.failures)) == (0, 1)
    assert not list(tmp_path.rglob("*.parquet"))


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


@pytest.mark.parametrize("options", ["hidden=7", "hidden=()", "hidden=(0,)", "batch=0", "bins=1", "learning_rate=0",
                                     "balance=2", "epsilon=2", "colour=1"])  # fmt: skip
def test_bad_options(problem, options):
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


def test_live_training_takes_no_networks():
    with pytest.raises(MonMDPError, match=r"DeepNaive trains in problems made by monmdp\.make, not live"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", "DeepNaive", steps=10)


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
