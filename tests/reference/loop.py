"""The training loop in plain Python: act, step, observe, update, evaluate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from monmdp.kernels.returns import NEGLIGIBLE
from monmdp.problem import Floats, MonMDP
from monmdp.protocol import paper_job
from monmdp.rng import normal, stream, uniform
from monmdp.training.loop import Keys
from monmdp.training.metrics import Record, new_record
from reference.agents import plain_agent
from reference.base import PlainAgent


class Stepped(NamedTuple):
    """One training step, for those who watch."""

    step: int
    state: int
    action: int
    exploring: bool
    observed: bool
    next_state: int
    ended: bool
    env_reward: float
    monitor_reward: float


def training(problem: MonMDP, agent: PlainAgent, steps: int, seed: int) -> Iterator[Stepped]:
    """Train an agent, one step at a time."""
    keys = {role: stream(seed, role) for role in Keys._fields}
    arrays = problem.dynamics
    episode, elapsed = 1, 0
    state = _start(problem, keys["start"], 0)
    for step in range(steps):
        if elapsed == 0:
            agent.begin(state, step)
        action, exploring = agent.act(state, step)
        pair = state * problem.n_actions + action
        outcome = int(arrays.offsets[pair])
        luck = uniform(keys["world"], step)
        while luck >= arrays.cumulative[outcome]:
            outcome += 1
        observed = uniform(keys["observe"], step) < arrays.observe_probability[outcome]
        env_reward, monitor_reward = float(arrays.env_reward[outcome]), float(arrays.monitor_reward[outcome])
        if arrays.reward_noise[outcome] > 0:
            env_reward += float(arrays.reward_noise[outcome]) * normal(keys["noise"], step)
        proxy_reward = env_reward if observed or agent.options.sees_everything else math.nan
        next_state, terminated = int(arrays.next_state[outcome]), bool(arrays.terminated[outcome])
        agent.visits[state, action] += 1
        agent.update(
            state, action, int(problem.env_pair[pair]), next_state, terminated,
            proxy_reward, monitor_reward, step,
        )  # fmt: skip
        elapsed += 1
        ended = terminated or elapsed == problem.step_limit
        before, state = state, next_state
        if ended:
            state = _start(problem, keys["start"], episode)
            episode, elapsed = episode + 1, 0
        yield Stepped(step, before, action, exploring, bool(observed), state, ended, env_reward, monitor_reward)


def train_plain(
    problem: MonMDP, agent: Any, seed: int = 0, steps: int | None = None, points: int | None = None
) -> tuple[Record, PlainAgent]:
    """One seed of `train`, number for number; slow."""
    job = paper_job(problem, agent, steps, points)
    length, point_steps = job.steps, job.point_steps
    learner = plain_agent(job.agent, problem, length, seed)
    record = new_record(len(point_steps))
    observed = exploring = done = 0
    earned = given = 0.0
    run = training(problem, learner, length, seed)
    for point, until in enumerate(point_steps):
        while done < until:
            stepped = next(run)
            observed += stepped.observed
            exploring += stepped.exploring
            earned += stepped.env_reward
            given += stepped.monitor_reward
            done += 1
        learner.plan(done)
        record.returns[point] = plain_return(problem, learner.q)
        record.observed[point] = observed
        record.visited[point] = np.count_nonzero(learner.visits)
        record.beta[point] = learner.beta(done)
        record.explored[point] = exploring / max(done, 1)
        record.paid[point] = 0.0 - given
        record.collected[point] = earned + given
    return record, learner


def plain_return(problem: MonMDP, q: Floats) -> float:
    """Expected return of the policy greedy on q [S, A] within the step limit, ties shared evenly."""
    pair_reward = np.add.reduceat(problem.probability * problem.reward, problem.offsets[:-1]).tolist()
    arrays = (problem.offsets, problem.probability, problem.terminated, problem.next_state)
    offsets, probability, terminated, next_state = (values.tolist() for values in arrays)
    best = [np.flatnonzero(row == row.max()).tolist() for row in q]
    mass = {int(state): float(problem.start[state]) for state in np.flatnonzero(problem.start)}
    total, weight, step = 0.0, 1.0, 0
    while mass and (problem.step_limit is None or step < problem.step_limit):
        coming: dict[int, float] = {}
        left = 0.0
        for state, here in mass.items():
            share = here / len(best[state])
            for action in best[state]:
                pair = state * problem.n_actions + action
                total += weight * share * pair_reward[pair]
                for outcome in range(offsets[pair], offsets[pair + 1]):
                    moved = share * probability[outcome]
                    if not terminated[outcome] and moved > 0:
                        after = next_state[outcome]
                        coming[after] = coming.get(after, 0.0) + moved
                        left += moved
        mass, step = coming, step + 1
        weight *= problem.discount
        if weight * left < NEGLIGIBLE:
            break
    return total


def plain_sampled_return(problem: MonMDP, q: Floats, episodes: int, key: int, clock: list[int]) -> float:
    """Mean discounted return of greedy test episodes, ties broken at random; clock [1] counts draws."""
    arrays, total = problem.dynamics, 0.0
    for _ in range(episodes):
        state, weight, step, ended = _start(problem, key, clock[0]), 1.0, 0, False
        clock[0] += 1
        while not ended and step != problem.step_limit and weight > NEGLIGIBLE:
            best = np.flatnonzero(q[state] == q[state].max())
            action = int(best[int(uniform(key, clock[0]) * len(best))])
            outcome = int(arrays.offsets[state * problem.n_actions + action])
            while uniform(key, clock[0] + 1) >= arrays.cumulative[outcome]:
                outcome += 1
            clock[0] += 2
            total += weight * (float(arrays.env_reward[outcome]) + float(arrays.monitor_reward[outcome]))
            weight, step = weight * problem.discount, step + 1
            state, ended = int(arrays.next_state[outcome]), bool(arrays.terminated[outcome])
    return total / episodes


def _start(problem: MonMDP, key: int, episode: int) -> int:
    states = np.flatnonzero(problem.start)
    luck = uniform(key, episode)
    choice = int(np.searchsorted(np.cumsum(problem.start[states]), luck, side="right"))
    return int(states[min(choice, len(states) - 1)])
