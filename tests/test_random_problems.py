"""Random problems: the same from the same seed, different from others, with a goal that can be reached."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp.paper.presets import PRESETS
from monmdp.paper.random_problems import FAMILIES, FIRST_REPORTED, OBSERVABILITY, RANDOM_MONITORS, random_problem
from monmdp.registry import parse_spec
from monmdp.study.sweep import requested

SEEDS = range(20)
KINDS = ("Garnet", "Garnet(branching=1)", "Lock", "RandomGrid", "Maze", "Layouts", "DeepSea")


def table(spec: str, **options: object):
    return monmdp.ENVIRONMENTS.build(spec, **options).table()


@pytest.mark.parametrize("spec", KINDS)
def test_a_seed_is_a_problem(spec):
    """Frozen trajectories compare these problems with those of a release."""
    digests = [monmdp.make(monmdp.ENVIRONMENTS.build(spec, seed=seed)).digest for seed in SEEDS]
    again = [monmdp.make(monmdp.ENVIRONMENTS.build(spec, seed=seed)).digest for seed in SEEDS]
    assert digests == again
    assert len(set(digests)) == len(SEEDS)


@pytest.mark.parametrize(("n_states", "n_actions", "branching"), [(2, 2, 1), (9, 2, 1), (9, 4, 3), (5, 3, 5)])
def test_garnets(n_states, n_actions, branching):
    """Every pair has `branching` next states, all states are connected, and the largest reward is 1."""
    for seed in SEEDS:
        garnet = table("Garnet", seed=seed, n_states=n_states, n_actions=n_actions, branching=branching)
        assert set(np.diff(garnet.offsets)) == {branching}
        after = garnet.next_state.reshape(n_states, n_actions, branching)
        assert all(len(set(row)) == branching for row in after.reshape(-1, branching).tolist())
        step = np.zeros((n_states, n_states), bool)
        step[np.arange(n_states)[:, None], after.reshape(n_states, -1)] = True
        assert (np.linalg.matrix_power(step.astype(float) + np.eye(n_states), n_states) > 0).all(), "connected"
        assert garnet.reward.max() == 1.0
        assert garnet.reward.min() >= -1.0


def test_density_of_rewards():
    rewards = {d: table("Garnet", n_states=200, branching=1, density=d).reward for d in (0.0, 0.3, 1.0)}
    assert np.count_nonzero(rewards[0.0]) == 1, "the pair with a reward of 1"
    assert np.count_nonzero(rewards[0.3]) / 600 == pytest.approx(0.3, abs=0.1)
    assert np.count_nonzero(rewards[1.0]) / 600 > 0.95


def test_branching_above_the_number_of_states():
    with pytest.raises(monmdp.MonMDPError, match="branching of at most 3"):
        table("Garnet(n_states=3, branching=4)")


@pytest.mark.parametrize(("length", "n_actions"), [(2, 2), (7, 4)])
def test_locks(length, n_actions):
    """One action advances in each state; the code opens the lock after `length` steps, for a return of γ^(length-1)."""
    for seed in SEEDS[:10]:
        lock = monmdp.ENVIRONMENTS.build("Lock", seed=seed, length=length, n_actions=n_actions)
        after = lock.table().next_state.reshape(length, n_actions)
        for state in range(length - 1):
            assert sorted(after[state]) == [0] * (n_actions - 1) + [state + 1]
            assert lock.actions[after[state].argmax()] == lock.code[state]
        assert sorted(lock.table().reward) == [0.0] * (length * n_actions - 1) + [1.0]
        assert lock.table().terminated.sum() == 1
        solution = monmdp.solve(monmdp.make(lock, "Ask"))
        assert solution.optimal_return == pytest.approx(0.99 ** (length - 1), abs=1e-12)
    codes = {tuple(monmdp.ENVIRONMENTS.build("Lock", seed=seed).code) for seed in SEEDS}
    assert len(codes) == len(SEEDS)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 7), (6, 5)])
def test_the_large_coin_of_a_grid_is_on_a_free_shortest_path(rows, columns):
    for seed in SEEDS:
        grid = monmdp.ENVIRONMENTS.build("RandomGrid", seed=seed, rows=rows, columns=columns)
        (coin,) = [cell for cell in grid.states if grid.map[cell[0]][cell[1]] == "C"]
        distance = sum(abs(a - b) for a, b in zip(coin, grid.default_start, strict=True))
        assert (rows + columns - 2) / 2 <= distance
        solution = monmdp.solve(monmdp.make(grid))
        assert solution.optimal_return == pytest.approx(0.99**distance, abs=1e-12)


def test_tiles_of_grids():
    plain, full = (table("RandomGrid(rows=20, columns=20)", density=d, tiles="t").layout.tiles for d in (0.0, 1.0))
    assert set("".join(plain)) == {".", "C"}
    letters = "".join(full)
    assert (letters.count("C"), set(letters)) == (1, {".", "C", "t"})
    assert letters.count(".") <= 38, "nothing but the path is empty"
    with pytest.raises(monmdp.MonMDPError, match="tiles are"):
        table("RandomGrid(tiles='?', density=1)")


def test_a_slip_into_a_trap_costs_5():
    """The reward depends on the cell that is entered, and one in five slips goes left."""
    maze = monmdp.Grid(["X.."], random_action=0.1, start=(0, 1)).table()
    right = slice(maze.offsets[5 + 2], maze.offsets[5 + 3])
    rewards = dict(zip(maze.next_state[right].tolist(), maze.reward[right].tolist(), strict=True))
    chances = dict(zip(maze.next_state[right].tolist(), maze.probability[right].tolist(), strict=True))
    assert rewards == {0: -5.0, 1: 0.0, 2: 0.0}
    assert chances == pytest.approx({0: 0.02, 1: 0.06, 2: 0.92})
    assert maze.terminated[right].tolist() == [cell == 0 for cell in maze.next_state[right]]


def test_a_maze_is_worth_the_risk():
    """In spite of its traps, the best return is above that of waiting."""
    for seed in SEEDS:
        problem = monmdp.make(f"Maze(seed={seed})")
        stay = np.zeros((problem.n_states, problem.n_actions))
        stay[:, problem.environment.actions.index("STAY")] = 1.0
        assert monmdp.solve(problem).optimal_return > monmdp.policy_return(problem, stay) + 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_of_a_family(family):
    """Options are within their ranges, the names give the same problem, and an agent can gain something."""
    ranges = FAMILIES[family].options
    for number in (*range(5), *range(FIRST_REPORTED, FIRST_REPORTED + 5)):
        environment, monitor = random_problem(family, number)
        built = monmdp.ENVIRONMENTS.build(environment), monmdp.MONITORS.build(monitor)
        assert (built[0].name, built[1].name) == (environment, monitor)
        assert built[0].seed == number
        within = ranges, {**RANDOM_MONITORS[parse_spec(monitor)[0]], **OBSERVABILITY}
        for owner, options in zip(built, within, strict=True):
            for option, (least, most) in options.items():
                assert least <= getattr(owner, option) <= most
        problem = monmdp.make(environment, monitor)
        single = len(problem.environment.probability) == len(problem.environment.offsets) - 1
        assert single == FAMILIES[family].deterministic
        solution = monmdp.solve(problem)
        uniform = np.full((problem.n_states, problem.n_actions), 1.0 / problem.n_actions)
        assert solution.solvable
        assert solution.optimal_return > monmdp.policy_return(problem, uniform) + 0.01


def test_monitors_of_different_seeds_and_families_differ():
    kinds = {family: [parse_spec(random_problem(family, seed)[1])[0] for seed in range(100)] for family in FAMILIES}
    for family, drawn in kinds.items():
        assert set(drawn) == set(FAMILIES[family].monitors)
    assert len({tuple(drawn) for drawn in kinds.values()}) == len(FAMILIES)


@pytest.mark.parametrize(("preset", "first"), [("random", FIRST_REPORTED), ("random-tuning", 0)])
def test_presets(preset, first):
    """Problems for development and for reports never mix; every agent runs in all of them with its own defaults."""
    sweeps = PRESETS[preset]
    numbers = [parse_spec(sweep.environments[0])[1].get("seed", 0) for sweep in sweeps]
    assert sorted(set(numbers)) == list(range(first, first + 20))
    assert {sweep.steps for sweep in sweeps} == {4_000, 10_000}
    batches = requested(sweeps[:2])
    assert len(batches) == 2 * len(monmdp.AGENTS)
    assert {batch.job.agent_name for batch in batches} == set(monmdp.AGENTS)
