"""Names in files never run code, problems are valid before a kernel reads them, and rewards of any size are exact."""

import dataclasses
import sys

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError
from monmdp.machine import available_bytes


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module in the working directory that leaves a mark when it is imported."""
    (tmp_path / "evilmod.py").write_text("open('mark', 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("evilmod", None)  # so that a later test would import it again
    assert not (tmp_path / "mark").exists()


def test_a_name_does_not_import_modules(evil):
    with pytest.raises(MonMDPError, match=r"pass the environment itself, made by gymnasium.make\('evilmod:X-v0'\)"):
        monmdp.make("evilmod:X-v0")


def test_a_sweep_file_does_not_import_modules(evil, capsys):
    from monmdp.cli import main

    (evil / "sweep.toml").write_text('[[sweep]]\nenvironments = ["evilmod:X-v0"]\nagents = ["Naive"]\nsteps = 10\n')
    assert main(["reproduce", "--sweep", "sweep.toml", "--out", "results"]) == 2
    assert "would import other code" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["figure", "environments"], ["report"]], ids=" ".join)
def test_a_forged_results_folder_does_not_import_modules(evil, command):
    from monmdp.cli import main
    from monmdp.study.store import save

    curves = monmdp.train(monmdp.make("Loop"), "Naive", 1, steps=10, points=2)
    save(dataclasses.replace(curves, settings={**curves.settings, "environment": "evilmod:X-v0"}), "forged")
    main([*command, "forged"])


@pytest.mark.parametrize("factor", [1e-30, 1e-8, 1e-6, 1e-4, 0.1, 1e5, 1e12])
@pytest.mark.parametrize("names", [("Empty", "Full"), ("Hazard", "Full"), ("RiverSwim", "Random")], ids=" + ".join)
def test_optima_scale_with_rewards(names, factor):
    ordinary, scaled = (_scaled(monmdp.make(*names), by) for by in (1.0, factor))
    expected = monmdp.solve(ordinary)
    solution = monmdp.solve(scaled)
    assert solution.optimal_return == pytest.approx(factor * expected.optimal_return, rel=1e-9)
    assert np.array_equal(solution.policy > 0, expected.policy > 0)


def test_tiny_rewards_beside_an_ordinary_cost():
    tiny = _scaled(monmdp.make("Empty", "Ask"), 1e-8)
    assert monmdp.solve(tiny).optimal_return == pytest.approx(1e-8 * 0.99**10, rel=1e-9)


def test_a_policy_that_earns_nothing_of_tiny_rewards_is_not_solved():
    curves = monmdp.train(_scaled(monmdp.make("Empty"), 1e-6), "Naive", 3, steps=5, points=1)
    assert not curves.solved.any()
    assert curves.optimal_return == pytest.approx(1e-6 * 0.99**10, rel=1e-9)


def _scaled(problem, factor):
    table = problem.environment
    return dataclasses.replace(problem, environment=dataclasses.replace(table, reward=factor * table.reward))


@pytest.mark.parametrize("given", [(9, 9), [9, 9], ((9, 9),), [(0, 0), (9, 9)]])
def test_a_cell_that_does_not_exist_is_not_two_states(given):
    with pytest.raises(MonMDPError, match=r"Empty has no state or region \(9, 9\)"):
        monmdp.make("Empty", monmdp.MONITORS.build("Ask", never_observable=given))


def test_cells_and_pairs_that_are_never_observable():
    def hidden(environment, given):
        monitor = monmdp.MONITORS.build("Ask", never_observable=given)
        return monmdp.solve(monmdp.make(environment, monitor)).hidden_rewards

    actions = ["LEFT", "DOWN", "RIGHT", "UP", "STAY"]
    assert hidden("Empty", (1, 3)) == hidden("Empty", [[1, 3]]) == [("(1, 3)", action) for action in actions]
    assert hidden("Empty", [((1, 3), "LEFT")]) == [("(1, 3)", "LEFT")]
    assert hidden("RiverSwim", (1, 2)) == [(state, action) for state in "12" for action in ("LEFT", "RIGHT")]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("step_limit", lambda table: 0, "step limit"),
        ("probability", lambda table: -table.probability, "'probability'"),
        ("next_state", lambda table: table.next_state + 1000, "'next_state'"),
        ("next_state", lambda table: table.next_state - 1000, "'next_state'"),
        ("reward", lambda table: table.reward[:-1], "'reward'"),
        ("reward", lambda table: table.reward + np.inf, "'reward'"),
        ("offsets", lambda table: table.offsets[::-1], "offsets"),
    ],
)
def test_a_problem_is_valid_before_a_kernel_reads_it(field, value, message):
    problem = monmdp.make("Loop", "Ask")
    changed = dataclasses.replace(problem.environment, **{field: value(problem.environment)})
    with pytest.raises(MonMDPError, match=message):
        dataclasses.replace(problem, environment=changed)


def test_the_true_reward_can_be_left_out_of_info():
    keys = {"proxy_reward", "reward_observed", "monitor_reward", "step_id"}
    for shown in (True, False):
        expected = keys | {"env_reward"} if shown else keys
        env = gymnasium.make("monmdp/Loop-v0", monitor="Ask", evaluation_info=shown)
        env.reset(seed=0)
        assert set(env.step(env.action_space.sample())[-1]) == expected
        envs = gymnasium.make_vec("monmdp/Loop-v0", num_envs=2, monitor="Ask", evaluation_info=shown)
        envs.reset(seed=0)
        assert {key for key in envs.step(envs.action_space.sample())[-1] if not key.startswith("_")} == expected


@pytest.mark.parametrize(
    ("groups", "limit", "used"),
    [
        ("0::/a/b\n", "a/memory.max", "a/memory.current"),
        ("0::/\n", "memory.max", "memory.current"),
        ("9:pids:/x\n4:cpu,memory:/c/d\n", "memory/c/memory.limit_in_bytes", "memory/c/memory.usage_in_bytes"),
    ],
)
def test_memory_limits_of_control_groups(tmp_path, groups, limit, used):
    files = {"proc/self/cgroup": groups, f"sys/fs/cgroup/{limit}": "5000\n", f"sys/fs/cgroup/{used}": "1200\n"}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert available_bytes(tmp_path) == 3800
    (tmp_path / "sys/fs/cgroup" / limit).write_text("max\n")
    assert available_bytes(tmp_path) > 2**20
