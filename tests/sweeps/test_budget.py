"""Budgets as a part of the paper's steps, presets with their own budgets, and the target return of stored runs."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from sweeping import error_of, output_of, single_job

import monmdp
from monmdp import MonMDPError, Sweep
from monmdp.paper.presets import ABLATIONS, preset
from monmdp.study import executors
from monmdp.study.results import Results
from monmdp.study.sweep import narrowed, requested

#: The paper's training steps, as its appendix lists them.
STEPS = {
    "Empty": 5_000, "Loop": 5_000, "Hazard": 10_000, "OneWay": 10_000, "Corridor": 30_000, "TwoRoom2x11": 5_000,
    "TwoRoom3x5": 10_000, "RiverSwim": 20_000,
}  # fmt: skip
TIMES = {"Full": 1, "Random": 1, "Ask": 3, "Button": 2, "Experts": 10, "Level": 20}
ALL_STEPS = sum(STEPS.values()) * sum(TIMES.values())  # 95,000 × 37


@pytest.fixture
def idle(monkeypatch):
    """Fail if anything is trained."""
    monkeypatch.setattr(executors.Threads, "train", lambda *_: pytest.fail("the sweep was started"))


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")


def plan(out: str) -> dict[str, str]:
    """The table of a dry run."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines()[1:])


def number(text: str) -> int:
    return int(text.replace(",", ""))


# Budgets


@pytest.mark.parametrize(("budget", "part"), [(0.1, 10), (1, 1)])
def test_a_part_of_the_papers_steps(budget, part):
    jobs = Sweep(agents=["DirectedModel"], budget=budget).jobs()
    assert len(jobs) == 48
    for job in jobs:
        environment, monitor = job.run_settings["environment"], job.run_settings["monitor"]
        assert job.run_settings["steps"] == job.steps == STEPS[environment] * TIMES[monitor] // part


def test_more_than_the_papers_steps():
    assert single_job("Loop", "Ask", "Naive", budget=2.5).steps == 37_500


def test_steps_are_rounded_and_at_least_one():
    for budget, steps in ((0.00033, 2), (0.0001, 1), (1e-9, 1)):
        assert single_job("Loop", "Full", "Naive", budget=budget).steps == steps


def test_points_are_at_most_the_steps():
    job = single_job("Loop", "Full", "Naive", budget=0.1)
    assert (job.steps, job.run_settings["points"]) == (500, 500)
    with pytest.raises(MonMDPError, match=r"more points \(501\) than steps \(500\)"):
        single_job("Loop", "Full", "Naive", budget=0.1, points=501)


def test_variants_have_the_budget_of_their_kind():
    assert single_job("Loop(reward_noise=0.1)", "Ask(cost=0.5)", "Naive", budget=0.1).steps == 1500


def test_equal_steps_are_the_same_runs():
    """A tenth of 15,000 steps and 1,500 steps are one job, which is trained once."""
    by_budget = Sweep(["Loop"], ["Ask"], ["Naive"], seeds=2, budget=0.1)
    by_steps = Sweep(["Loop"], ["Ask"], ["Naive"], seeds=2, steps=1500)
    assert len(requested([by_budget, by_steps])) == 1
    assert len(requested([by_budget, Sweep(["Loop"], ["Ask"], ["Naive"])])) == 2


def test_narrowed():
    rows = {"environments": ["Loop"], "monitors": ["Ask"], "agents": ["Naive"]}
    (sweep,) = narrowed([preset("paper")], **rows, budget=0.1)
    assert [job.steps for job in sweep.jobs()] == [1500]
    (sweep,) = narrowed([preset("tenth")], environments=["Loop"], budget=None)
    assert sweep.budget == 0.1


def test_environments_and_monitors_of_a_preset_stay_together():
    hard, names = preset("deep-hard"), ["DeepSea(size=12)", "Bottleneck"]
    of_name = {sweep.environments[0]: sweep for sweep in hard}
    kept = narrowed(hard, environments=["deepsea(size = 12)", "Bottleneck"])
    assert {sweep.environments[0]: sweep.monitors for sweep in kept} == {name: of_name[name].monitors for name in names}
    everywhere = narrowed(hard, environments=["Loop", "Bottleneck"], monitors=["Ask"])  # the preset has no Loop
    assert [(*sweep.environments, *sweep.monitors) for sweep in everywhere] == 9 * [("Loop", "Bottleneck", "Ask")]
    near, far = "Button(cell=(5, 1), action='DOWN')", "Button(cell=(0, 3), action='UP')"
    own = narrowed(hard, environments=["Bottleneck", "KeyDoor(size=9)"], monitors=["Level", near])
    assert [(*sweep.environments, *sweep.monitors) for sweep in own] == [
        ("Bottleneck", near, "Level"), ("KeyDoor(size=9)", "Level"),
    ]  # fmt: skip
    assert [sweep.environments for sweep in narrowed(hard, monitors=[far])] == [["KeyDoor(size=9)"]]
    (from_file,) = narrowed([Sweep([{"name": "Loop"}, "Empty"])], environments=["Empty"])
    assert list(from_file.environments) == ["Empty"]


def test_from_a_file(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(
        '[[sweep]]\nenvironments = ["Loop", "Hazard"]\nmonitors = ["Ask"]\nagents = ["Naive"]\n'
        "seeds = 3\nbudget = 0.1\n"
    )
    settings = plan(
        output_of(capsys, "reproduce", "--sweep", str(tmp_path / "mine.toml"), "--dry-run", "--out", str(tmp_path))
    )
    assert number(settings["steps to do"]) == 3 * (1500 + 3000)


# The command line


def test_dry_run(idle, capsys, tmp_path):
    settings = plan(output_of(capsys, "reproduce", "--budget", "0.1", "--dry-run", "--out", str(tmp_path / "r")))
    assert settings["cells"] == "288"
    assert number(settings["runs to do"]) == 28_800
    assert number(settings["steps to do"]) == 600 * ALL_STEPS // 10 == 210_900_000
    assert not (tmp_path / "r").exists()


def test_a_real_run(capsys, tmp_path):
    words = ("--envs", "Loop", "--monitors", "Full", "--agents", "Naive", "--seeds", "2", "--budget", "0.1")
    output_of(capsys, "reproduce", *words, "--points", "5", "--out", str(tmp_path))
    table = monmdp.load(tmp_path)
    assert sorted(set(table.column("step").to_pylist())) == [0, 100, 200, 300, 400, 500]
    (cell,) = Results(tmp_path).cells.values()
    assert cell.settings["steps"] == 500


@pytest.mark.parametrize(
    ("budget", "culprit"), [("-0.1", "-0.1"), ("-1", "-1"), ("nan", "nan"), ("inf", "inf"), ("much", "much")]
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_bad_budgets(idle, capsys, tmp_path, budget, culprit, dry):
    words = ("--envs", "Loop", "--monitors", "Full", "--agents", "Naive", f"--budget={budget}", *dry)
    settings = error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), *words)
    assert culprit in settings
    assert "udget" in settings
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("text", ["-1", "'a tenth'", "nan", "[0.1]"])
def test_bad_budgets_in_a_file(idle, capsys, tmp_path, text):
    (tmp_path / "bad.toml").write_text(f"[[sweep]]\nbudget = {text}\n")
    settings = error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), "--sweep", str(tmp_path / "bad.toml"))
    assert "udget" in settings
    assert not (tmp_path / "r").exists()


def test_a_budget_for_a_problem_outside_the_paper(idle, capsys, tmp_path):
    words = ("--envs", "Walk", "--monitors", "Full", "--agents", "Naive", "--budget", "0.1")
    settings = error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), *words)
    assert "Walk + Full is not one of the paper's problems" in settings


# Presets


def cells_of(name: str) -> list[tuple[dict, list[int]]]:
    """Settings and seeds of every job."""
    return [(request.job.run_settings, list(request.seeds)) for request in requested(preset(name))]


def test_the_tenth(capsys, tmp_path):
    cells = cells_of("tenth")
    assert len(cells) == 48
    assert {(settings["environment"], settings["monitor"]) for settings, _ in cells} == {
        (e, m) for e in STEPS for m in TIMES
    }
    for settings, seeds in cells:
        assert settings["agent"] == "DirectedModel"
        assert settings["steps"] == STEPS[settings["environment"]] * TIMES[settings["monitor"]] // 10
        assert seeds == list(range(100))
    out = plan(output_of(capsys, "reproduce", "--preset", "tenth", "--dry-run", "--out", str(tmp_path / "r")))
    assert number(out["runs to do"]) == 4800
    assert number(out["steps to do"]) == 10 * ALL_STEPS


def test_the_follow_up(capsys, tmp_path):
    cells = cells_of("followup")
    assert len(cells) == 48 * 4
    assert len({(settings["environment"], settings["monitor"]) for settings, _ in cells}) == 48
    options = Counter((settings["agent_class"], settings["agent_options"]["known_monitor"]) for settings, _ in cells)
    assert options == {(name, known): 48 for name in ("DirectedModel", "MonitoredMBIE") for known in (True, False)}
    for settings, seeds in cells:
        assert settings["steps"] == 20_000
        assert seeds == list(range(30))
    out = plan(output_of(capsys, "reproduce", "--preset", "followup", "--dry-run", "--out", str(tmp_path / "r")))
    assert number(out["steps to do"]) == 48 * 4 * 30 * 20_000


def test_all_agents_have_the_follow_ups_steps():
    """So that runs of the follow-up are not repeated; and no agent is missing."""
    agents, followup = cells_of("agents"), cells_of("followup")
    assert {settings["agent_class"] for settings, _ in agents} == set(monmdp.AGENTS)
    assert len(agents) == 48 * len(monmdp.AGENTS)
    assert sum(pair in agents for pair in followup) == 48 * 2


def test_without_the_extra_a_preset_of_networks_says_what_to_install_before_anything_starts(
    capsys, tmp_path, idle, monkeypatch
):
    monkeypatch.setattr("monmdp.deep.agents.find_spec", lambda name: None)
    error = error_of(capsys, "reproduce", "--preset", "deep", "--out", str(tmp_path / "r"))
    assert "needs JAX and Optax; install them with: pip install 'monmdp[deep]'" in error
    assert not (tmp_path / "r").exists()


def test_the_unsolvable():
    cells = cells_of("unsolvable")
    assert len(cells) == 24 * 4
    assert len({settings["monitor"] for settings, _ in cells}) == 24
    options = Counter((settings["agent_class"], settings["agent_options"]["known_monitor"]) for settings, _ in cells)
    assert options == {(name, known): 24 for name in ("DirectedModel", "MonitoredMBIE") for known in (True, False)}
    for settings, seeds in cells:
        assert settings["environment"] == "Bottleneck"
        assert settings["steps"] == 50_000
        assert seeds == list(range(30))
        assert settings["agent_options"]["minimum_reward"] == -10.0
    kinds = Counter(settings["monitor"].split("(")[0] for settings, _ in cells)
    assert kinds == dict.fromkeys(["FullRandom", "Ask", "Button", "Experts", "PaidExperts", "Level"], 16)


def test_the_unsolvable_problems_have_hidden_rewards():
    """25 hidden rewards, those of the column; the others are shown with chance ρ at best, 1, 0.8, 0.2 and 0.05."""
    chances = Counter()
    sweep = preset("unsolvable")
    for job in sweep.jobs()[:: len(sweep.agents)]:
        problem = job.problem
        hidden = monmdp.solve(problem).hidden_rewards
        assert len(hidden) == 25
        assert {state.rstrip(")").split(", ")[1] for state, _ in hidden} == {"2"}
        chances[round(float(problem.monitor.observe_probability.max()), 6)] += 1
    assert chances == {1.0: 6, 0.8: 6, 0.2: 6, 0.05: 6}


def test_the_ablation():
    """The whole agent and seven variants, each without one idea."""
    cells = cells_of("ablation")
    assert len(cells) == 48 * 8
    for settings, seeds in cells:
        assert settings["agent_class"] == "DirectedModel"
        assert settings["steps"] == STEPS[settings["environment"]] * TIMES[settings["monitor"]] // 10
        assert seeds == list(range(20))
    default = monmdp.AGENTS.build("DirectedModel")
    changed = [
        {name for name in vars(default) if getattr(monmdp.AGENTS.build(text), name) != getattr(default, name)}
        for text in ABLATIONS
    ]
    assert changed == [
        set(), {"pool_environment"}, {"pool_monitor"}, {"pessimism"}, {"observe"}, {"beta_certain", "beta_uncertain"},
        {"cost_weight"}, {"reward_per_outcome"},
    ]  # fmt: skip


# The target return of stored runs

#: The reward of a cell on the path to the goal is never observable, so that the minimax policy avoids it.
DETOUR = "Ask(never_observable=[(1, 0)])"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with an unsolvable problem, twice, and a solvable one."""
    folder = tmp_path_factory.mktemp("stored")
    agents = ["DirectedModel", "Naive"]
    monmdp.run_sweep([Sweep(["Hazard"], [DETOUR, "Ask"], agents, seeds=3, steps=4000, points=8)], folder, threads=1)
    return folder


def test_the_target_of_an_unsolvable_cell_is_the_minimax_return(stored):
    exact = monmdp.solve(monmdp.make("Hazard", DETOUR))
    assert exact.minimax_return < exact.optimal_return - 0.05
    table = monmdp.load(stored, kind="tables").to_pandas()
    hidden, seen = table[table["monitor"] == DETOUR], table[table["monitor"] == "Ask"]
    assert len(hidden) == len(seen) == 6
    assert set(hidden["target_return"]) == {exact.cautious_return}
    assert exact.cautious_return == pytest.approx(exact.minimax_return, abs=1e-9)
    assert set(hidden["optimal_return"]) == {exact.optimal_return}
    assert set(seen["target_return"]) == set(seen["optimal_return"]) == {exact.optimal_return}


def test_solved_follows_the_target(stored):
    exact = monmdp.solve(monmdp.make("Hazard", DETOUR))
    results = Results(stored)
    cautious, naive = (results.cell("Hazard", DETOUR, agent) for agent in ("DirectedModel", "Naive"))
    assert cautious.target_return == exact.cautious_return
    assert cautious.final_returns == pytest.approx([exact.minimax_return] * 3, abs=1e-6)
    assert cautious.solved.tolist() == [True] * 3
    assert results.cell("Hazard", "Ask", "DirectedModel").solved.tolist() == [True] * 3
    assert naive.solved.tolist() == (naive.final_returns >= exact.minimax_return - 1e-6).tolist()
    for cell in results.cells.values():
        assert cell.finals(["solved"])["solved"].tolist() == cell.solved.tolist()


def test_stored_runs_equal_trained_runs(stored):
    curves = monmdp.train(monmdp.make("Hazard", DETOUR), "DirectedModel", 3, steps=4000, points=8)
    cell = Results(stored).cell("Hazard", DETOUR, "DirectedModel")
    assert np.array_equal(cell.curve("return"), curves.returns)
    assert cell.target_return == curves.target_return
    assert cell.solved.tolist() == curves.solved.tolist()


# Invalid budgets


def test_a_budget_of_zero(idle, capsys, tmp_path):
    words = ("--envs", "Loop", "--monitors", "Full", "--agents", "Naive", "--budget", "0", "--dry-run")
    assert "udget" in error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), *words)


@pytest.mark.parametrize("words", [("--preset", "followup", "--budget", "0.1"), ("--steps", "100", "--budget", "-5")])
def test_steps_and_a_budget_exclude_each_other(idle, capsys, tmp_path, words):
    """Otherwise 20,000 steps would be trained, not a tenth of them."""
    names = ("--envs", "Loop", "--monitors", "Full", "--agents", "Naive")
    assert "udget" in error_of(capsys, "reproduce", "--out", str(tmp_path / "r"), *names, *words, "--dry-run")
