"""Agents with networks as a user trains them: learning from pixels, hidden rewards, seeds and sweeps."""

import dataclasses
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")
pytest.importorskip("optax", reason="the extra deep is not installed")

import jax

import monmdp
from monmdp import MonMDPError, Sweep
from monmdp.agents.base import DEEP, HASHED
from monmdp.cli import main
from monmdp.deep import agents
from monmdp.deep import job as deep_job
from monmdp.deep.acting import recorded_values
from monmdp.deep.job import Run
from monmdp.deep.later import AHEAD, later_codes, least_values, paths
from monmdp.deep.learner import advance, begin
from monmdp.deep.learning import WINDOW
from monmdp.deep.observations import observations
from monmdp.deep.state import joined, scaled
from monmdp.exact.structure import hidden_env_outcomes
from monmdp.paper.presets import preset
from monmdp.protocol import paper_job
from monmdp.study.sweep import requested
from monmdp.training.metrics import METRICS

#: One size of everything, that of the docs, so that one program is compiled for each of two kinds of agents.
STEPS, SMALL = 1000, "hidden=(64,), learning_rate=0.005, batch=32, tracking=0.3"
DIRECTED = f"DeepDirected({SMALL})"
#: A run that is cut short.
EARLY = np.array([0, 60])
#: Agents whose programs are compiled for them only, and the rivals that share one.
OWN = {"BootstrappedDQN", "DeepCautious"}
RIVALS = [name for name in DEEP if name not in OWN | {"DeepDirected"}]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Everything(agents.BootstrappedDQN, agents.DeepCautious, agents.DeepIntrinsic):
    """All ideas with networks of their own in one agent, so that one program is compiled for them."""

    hidden: tuple = (16,)
    batch: int = 8
    heads: int = 3
    share: float = 0.5
    n: int = 4
    k: int = 2
    novelty: str = "distillation"


@pytest.fixture(scope="module")
def curves(problem):
    return monmdp.train(problem, DIRECTED, seeds=2, steps=STEPS, points=10)


def trained(job, seed, points=EARLY):
    """The record and the final tables of a seed."""
    job.point_steps = points
    ((record, tables),) = job.run_together([(job, seed)], [np.zeros(2, np.int64)], np.zeros(1, np.int64))
    return record._asdict(), tables


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


def test_a_seed_does_not_depend_on_points_or_the_time_of_day(problem, curves):
    assert not np.array_equal(curves.visit_counts[0], curves.visit_counts[1])
    again = monmdp.train(problem, DIRECTED, seeds=[1], steps=STEPS, points=3)
    assert np.array_equal(again.q[0], curves.q[1], equal_nan=True)
    assert np.array_equal(again.visit_counts[0], curves.visit_counts[1])


@pytest.mark.parametrize(
    "name",
    ["DeepDirected", *RIVALS, "Everything", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(OWN))],
)
def test_rewards_that_are_not_shown_change_nothing(problem, name):
    agent = Everything() if name == "Everything" else f"{name}({SMALL})"
    job, poisoned = (paper_job(problem, agent, STEPS, 10) for _ in range(2))
    hidden = job.world.observe_probability == 0
    poisoned.world = job.world._replace(env_reward=np.where(hidden, 99.0, job.world.env_reward))
    clean, other = trained(job, 0), trained(poisoned, 0)
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


def memories_of(job, *steps):
    """The plan and numbers of a seed, and its memories after some steps."""
    plan, *others, keys = job._inputs([Run(job, 0, np.zeros(2, np.int64))])
    memories = [advance(plan, *others, begin(plan, *others, keys), 0, until) for until in steps]
    return plan, *(jax.tree.map(lambda array: array[0], own) for own in (others[0], *memories))


@pytest.fixture(scope="module")
def early(problem):
    return memories_of(paper_job(problem, DIRECTED, STEPS, 10), 8, 150)


def expected_ahead(plan, numbers, memory, rows, monitors):
    """What the target network expects in environment states and monitor states, [n]."""
    inputs = joined(plan, scaled(memory.codes, numbers.observations[rows]), monitors)
    return np.asarray(recorded_values(plan, numbers, memory._replace(mean=memory.slow["q"]), inputs)).max(1)


def test_what_the_agent_knows_of_ways_follows_from_its_steps(early):
    """Which codes lead to which: all powers of the matrix of steps; codes that came later: one step after the other."""
    plan, _, few, memory = early
    assert not np.all(few.leads)
    history, varies = jax.device_get((memory.history, memory.env_outcomes.varies))
    code, after = history.env_pair // plan.n_env_actions, history.next_goal // plan.n_monitor_states
    steps = np.eye(plan.n_codes, dtype=int)
    for t in range(150):
        steps[code[t], after[t]] |= not history.terminated[t]
    np.testing.assert_array_equal(memory.leads, np.linalg.matrix_power(steps.astype(float), plan.n_codes) > 0.0)
    assert history.ended[:150].any()
    chosen = np.arange(150)
    found, sure = later_codes(plan, memory, paths(plan, memory, chosen, 149))
    for t in chosen:
        for k in range(1, AHEAD + 1):
            way = np.arange(t, min(t + k, 149) + 1)
            possible = t + k < 150 and not history.ended[way[:-1]].any() and not varies[history.env_pair[way]].any()
            possible = possible and not history.terminated[t + k]
            assert sure[t, k - 1] == possible
            assert not possible or found[t, k - 1] == after[t + k]
    assert 0 < sure.sum() < sure.size


def test_values_are_at_least_what_a_known_way_earned(problem, early):
    """The sum of rewards along the way, one step after the other, and what the target network expects at its end."""
    plan, numbers, _, memory = early
    history, outcomes = jax.device_get((memory.history, memory.env_outcomes))
    chosen, taken = np.arange(150), jax.tree.map(lambda array: array[:150], memory.history)
    expected = expected_ahead(plan, numbers, memory, history.next_picture, history.next_monitor)
    bounds = np.asarray(least_values(plan, numbers, memory, paths(plan, memory, chosen, 149), taken))
    for t in chosen:
        earned, factor, ahead = 0.0, 1.0, -np.inf
        for i in range(t, min(t + AHEAD + 1, 150)):
            if outcomes.varies[history.env_pair[i]] or np.isnan(outcomes.reward[history.env_pair[i]]):
                break
            earned += factor * (outcomes.reward[history.env_pair[i]] - 0.2 * (history.action[i] % 2))
            factor *= problem.discount
            ahead = 0.0 if history.terminated[i] else expected[i]
            if history.ended[i]:
                break
        assert bounds[t] == pytest.approx(earned + factor * ahead, abs=1e-4)
    assert 0 < np.isfinite(bounds).sum() < 150


def test_a_known_way_is_followed_from_other_monitor_states():
    """Bounds agree with the problem itself, in which the actions of the way are taken from another monitor state."""
    problem = monmdp.make("Loop", "Battery(n=3)", discount=0.9)
    job = paper_job(problem, DIRECTED, STEPS, 10)
    plan, numbers, memory = memories_of(job, 400)
    world, random, chosen = job.world, np.random.default_rng(0), np.arange(300)
    history, taken = (jax.tree.map(lambda array, n=n: np.asarray(array[:n]), memory.history) for n in (400, 300))
    monitors, asks = random.integers(plan.n_monitor_states, size=300), random.integers(2, size=300)
    first = taken._replace(monitor=monitors, action=taken.action - taken.action % 2 + asks)
    bounds = np.asarray(least_values(plan, numbers, memory, paths(plan, memory, chosen, 399), first))
    expected = expected_ahead(plan, numbers, memory, world.env_state, world.monitor_state)
    places = {place: state for state, place in enumerate(zip(world.env_state, world.monitor_state, strict=True))}
    for t in chosen[np.isfinite(bounds)]:
        state, action, earned, factor, possible = places[history.picture[t], monitors[t]], first.action[t], 0.0, 1.0, []
        for i in range(t, t + AHEAD + 1):
            outcome = world.offsets[state * world.n_actions + action]
            earned += factor * (world.env_reward[outcome] + world.monitor_reward[outcome])
            factor, state, action = factor * 0.9, world.next_state[outcome], history.action[i + 1]
            possible.append(earned + factor * expected[state] * (not world.terminated[outcome]))
            if world.terminated[outcome] or history.ended[i]:
                break
        assert np.abs(bounds[t] - possible).min() < 1e-4
    elsewhere = (monitors != taken.monitor) | (asks != taken.action % 2)
    assert np.isfinite(bounds[elsewhere]).sum() > 50


def test_recorded_policies_are_averages_over_time(problem):
    """θ̄ = Σ w_i θ_i / Σ w_i with w_i = i (i + 1) … (i + k − 1)."""
    job = paper_job(problem, DIRECTED, STEPS, 10)
    *program, keys = job._inputs([Run(job, 0, np.zeros(2, np.int64))])
    memory, networks = begin(*program, keys), []
    for t in range(12):
        memory = advance(*program, memory, t, t + 1)
        networks.append(np.asarray(memory.networks["q"][0]["weights"][0]))
    weights = [np.prod([(i + j) / WINDOW for j in range(int(WINDOW))]) for i in range(1, 13)]
    np.testing.assert_allclose(memory.mean[0]["weights"][0], np.average(networks, 0, weights), atol=1e-6)


def test_only_networks_that_are_trained_change(problem):
    job = paper_job(problem, Everything(), STEPS, 10)
    *program, keys = job._inputs([Run(job, 0, np.zeros(2, np.int64))])
    first = begin(*program, keys)
    before = jax.device_get((first.fixed, first.networks, first.slow))
    last = advance(*program, first, 0, 60)
    after = jax.device_get((last.fixed, last.networks, last.slow))
    assert set(before[0]) == {"q", "reward", "novelty"}
    assert jax.tree.all(jax.tree.map(np.array_equal, before[0], after[0]))
    for kind, (old, new) in enumerate(zip(before[1:], after[1:], strict=True)):
        assert set(new) == {"q", "reward"} | ({"predictor"} if kind == 0 else set())
        assert not any(jax.tree.leaves(jax.tree.map(np.array_equal, old, new)))
    assert last.loss.shape == (1, 3)
    assert (last.loss > 0).all()
    assert last.novelty[0, 0] == 60


@pytest.mark.slow
def test_one_head_without_a_prior_is_an_ordinary_network(problem):
    alone = f"BootstrappedDQN(heads=1, prior_scale=0.0, {SMALL})"
    values = [trained(paper_job(problem, name, STEPS, 10), 0)[1]["q"] for name in (alone, f"DeepNaive({SMALL})")]
    np.testing.assert_allclose(*values, atol=1e-4)


def test_agents_with_networks_of_their_own_repeat_their_results(problem):
    results = [trained(paper_job(problem, Everything(), STEPS, 10), seed) for seed in (1, 1, 3)]
    assert same(results[0], results[1])
    assert not same(results[0], results[2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "least"),
    [
        (f"BootstrappedDQN({SMALL})", 3),
        (f"DeepCautious({SMALL}, last_learning_rate=0.02)", 1),  # about half of the seeds; small estimates vary with it
        (f"DeepIntrinsic(novelty='distillation', {SMALL})", 3),
    ],
)
def test_rivals_solve_a_small_problem_if_everything_is_visible(agent, least):
    problem = monmdp.make("Loop", "Full", discount=0.9)
    curves = monmdp.train(problem, agent, seeds=3, steps=3 * STEPS, points=10)
    assert curves.solved.sum() >= least
    table, _, _ = observations(problem, "pixels")
    for row, policy in enumerate(curves.policies):
        np.testing.assert_allclose(policy.q(table, np.zeros(len(table), int)), curves.q[row], rtol=1e-3, atol=1e-3)


#: Compiles DirectedModel once more.
@pytest.mark.slow
@pytest.mark.parametrize(("environment", "monitor"), [("RiverSwim", "Ask"), ("Loop", "Button")])
def test_a_table_of_pictures_is_a_table_of_states(environment, monitor):
    problem = monmdp.make(environment, monitor)
    curves, table = (
        monmdp.train(problem, name, seeds=2, steps=2000, points=10) for name in ("HashDirectedModel", "DirectedModel")
    )
    for name in ("q", "visit_counts", "reward_model"):
        assert np.array_equal(getattr(curves, name), getattr(table, name), equal_nan=True), name
    for name, values in table.recorded.items():
        assert np.array_equal(curves.recorded[name], values, equal_nan=True), name
    assert curves.remarks == table.remarks


@pytest.mark.slow
def test_states_with_equal_pictures_are_one_state():
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    curves = monmdp.train(
        problem, "HashDirectedModel", observe=lambda p, s: [-0.0, s % 7], seeds=1, steps=3000, points=3
    )
    known, q = problem.reachable, curves.q[0]
    codes = np.arange(problem.n_states) // len(problem.monitor.states) % 7
    for code in range(7):
        rows = q[known & (codes == code)]
        assert len(rows) > 1
        assert (rows == rows[0]).all()
    assert len(np.unique(q[known], axis=0)) == 7
    rewards = curves.reward_model[0].reshape(-1, len(problem.environment.actions))
    assert np.array_equal(rewards[7:], rewards[:-7])


@pytest.mark.slow
def test_a_table_of_pictures_never_sees_hidden_rewards(problem):
    job, poisoned = (paper_job(problem, "HashDirectedModel", STEPS, 10) for _ in range(2))
    hidden = job.world.observe_probability == 0
    poisoned.world = job.world._replace(env_reward=np.where(hidden, 99.0, job.world.env_reward))
    clean, other = trained(job, 0, job.point_steps), trained(poisoned, 0, job.point_steps)
    for name in ("collected", "returns"):
        clean[0].pop(name), other[0].pop(name)
    assert same(clean, other)


def test_a_table_of_noisy_pictures_is_refused(problem):
    with pytest.raises(MonMDPError, match="noisy pictures are never the same"):
        monmdp.train(problem, "HashDirectedModel", observe="noisy pixels", steps=10)
    with pytest.raises(MonMDPError, match="runs on CPUs only"):
        monmdp.train(problem, "HashDirectedModel", steps=10, device="cuda")


def test_rivals_learn_differently(problem):
    distinct = [name for name in RIVALS if name != "DeepOracle"]  # equal to DeepZero while it finds no coin
    values = {name: trained(paper_job(problem, f"{name}({SMALL})", STEPS, 10), 0)[1]["q"] for name in distinct}
    assert len({value.tobytes() for value in values.values()}) == len(distinct)
    assert all(np.isfinite(value).all() for value in values.values())


def test_every_option_reaches_the_program(problem):
    other = {
        "observe": "one-hot", "epsilon": 0.5, "hidden": (16,), "learning_rate": 0.1, "last_learning_rate": 0.5,
        "batch": 7, "every": 3, "balance": 0.1, "tracking": 0.3, "last_tracking": 0.5, "bins": 9,
        "minimum_reward": -3.0, "beta_bar": 0.9,
        "goal_discount": 0.5, "goal_steps": 5, "bonus": 0.7, "novelty": "distillation", "heads": 3, "prior_scale": 0.2,
        "share": 0.9, "k": 3, "n": 4, "pooled": False, "codes": 3, "code_radius": 0.4,
    }  # fmt: skip

    def program(agent):
        job = paper_job(problem, agent, 10)
        return job.plan, [np.asarray(number).tobytes() for number in job.numbers]

    for kind in (agents.DeepDirected, agents.DeepIntrinsic, agents.BootstrappedDQN, agents.DeepCautious):
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
    assert trained(paper_job(problem, DIRECTED, STEPS, 10), 0)[1]["policy"] is None  # as in a sweep


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
    assert len({request.identity for request in requests}) == len(requests) == 48 * len(DEEP | HASHED)
    assert {one["agent_class"] for one in settings} == set(DEEP | HASHED)
    assert {(one["steps"], one["agent_options"]["observe"]) for one in settings} == {(20_000, "pixels")}
    assert {request.seeds for request in requests} == {tuple(range(30))}
    networks = [request for request in requests if request.job.run_settings["agent_class"] in DEEP]
    assert all(20 < request.seconds / 30 < 300 for request in networks)  # on one core


def test_a_job_can_be_stopped_and_sent_to_another_process(problem):
    job = pickle.loads(pickle.dumps(paper_job(problem, DIRECTED, STEPS, 10)))
    progress = np.zeros(2, np.int64)
    job.run_together([(job, 0)], [progress], np.ones(1, np.int64))
    assert progress[0] < STEPS


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


def test_programs_are_dropped_before_there_are_too_many(problem, monkeypatch):
    """A sweep over many problems in one process would end in a crash: programs of a CPU are in many small pieces."""
    monkeypatch.setattr(deep_job, "MOST_PROGRAMS", 1)
    jobs = [paper_job(problem, agent, STEPS, 10) for agent in (DIRECTED, f"DeepNaive({SMALL})")]
    first, _ = (trained(job, 0) for job in jobs)
    assert advance._cache_size() == 1
    assert same(first, trained(jobs[0], 0))
