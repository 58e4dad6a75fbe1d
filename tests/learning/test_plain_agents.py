"""Agents in plain Python in `train` and sweeps, options of compiled ones, and what is said about mistakes in both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from comparing import CURVES, run, same
from test_record import referee

import monmdp
from monmdp import MonMDPError
from monmdp.agents import QLearner
from monmdp.agents.base import new_memory
from monmdp.agents.choices import choose
from monmdp.agents.schedules import Schedule, value_at
from monmdp.errors import MonMDPWarning
from monmdp.protocol import paper_job
from monmdp.study.snapshots import Run
from monmdp.training.compile_errors import explained


class Factory:
    """ε-greedy; made from a problem, a seed and an option."""

    def __init__(self, problem, seed, epsilon=0.5):
        self.random, self.epsilon = np.random.default_rng(seed), epsilon
        self.q = np.zeros((problem.n_states, problem.n_actions))

    def act(self, state):
        if self.random.random() < self.epsilon:
            return int(self.random.integers(self.q.shape[1])), True
        return int(self.q[state].argmax()), False

    def update(self, transition):
        reward = 0.0 if np.isnan(transition.proxy_reward) else transition.proxy_reward
        self.q[transition.state, transition.action] += 0.5 * (reward + transition.monitor_reward)


@dataclass
class Started:
    """The same as an object with an option; every seed gets a copy, which is started."""

    epsilon: float = 0.5

    def start(self, problem, seed):
        Factory.__init__(self, problem, seed, self.epsilon)

    act, update = Factory.act, Factory.update


class Ordinary(Started):
    """The same without a dataclass."""

    def __init__(self, epsilon=0.5):
        self.epsilon = epsilon


def make(problem, seed):
    return Factory(problem, seed, 0.1)


FORMS = {
    "Factory": Factory,
    "Factory(epsilon=0.1)": partial(Factory, epsilon=0.1),
    "Started": Started,
    "Started(epsilon=0.1)": Started(epsilon=0.1),
    "Ordinary(epsilon=0.1)": Ordinary(epsilon=0.1),
    "make": make,
}


def test_every_form_of_a_plain_agent(tmp_path):
    """In `train`, in a sweep and in `record`, on any number of threads, the same runs; an object stays as it was."""
    problem, sizes = monmdp.make("Loop", "Ask"), {"steps": 200, "points": 5}
    report = monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], list(FORMS.values()), [2, 7], **sizes), tmp_path)
    assert (report.done, report.failures) == (12, [])
    rows = monmdp.load(tmp_path).to_pandas()
    for name, form in FORMS.items():
        trained = monmdp.train(problem, form, [2, 7], threads=2, **sizes)
        recorded = monmdp.record(problem, form, seeds=[2, 7], **sizes)
        assert trained.agent == name
        assert trained.settings == recorded.settings
        epsilon = 0.5 if name in ("Factory", "Started") else 0.1
        expected = monmdp.record(problem, lambda *both, given=epsilon: Factory(*both, given), seeds=[2, 7], **sizes)
        mine = rows[rows["agent"] == name].sort_values(["seed", "step"])
        for curves in (trained, recorded):
            assert np.array_equal(curves.visit_counts, expected.visit_counts)
            assert np.array_equal(curves.returns, expected.returns)
            assert np.array_equal(mine["return"], curves.returns.ravel())
    options = [monmdp.train(problem, form, steps=5).settings["agent_options"] for form in FORMS.values()]
    assert options == [{"epsilon": e} for e in (0.5, 0.1, 0.5, 0.1, 0.1)] + [{}]
    assert vars(FORMS["Started(epsilon=0.1)"]) == {"epsilon": 0.1}


@pytest.mark.parametrize("evaluation", ["sampled", "none"])
def test_other_evaluations_equal_those_of_the_compiled_agent(evaluation):
    problem, sizes = monmdp.make("Hazard", "Button"), {"steps": 300, "points": 6, "evaluation": evaluation}
    plain, compiled = (monmdp.train(problem, agent, [3], **sizes) for agent in (referee("Naive", 300), "Naive"))
    one, other = run(plain, 3), run(compiled, 3)
    for name in (*CURVES, "visit_counts", "q"):
        assert same(one[name], other[name]), name


class Unready:
    """Has no start."""

    def act(self, state):
        return 0


def ignores(problem, seed, speed=1.0):
    return Factory(problem, seed)


@dataclass
class Deaf(Started):
    volume: float = 3.0


@dataclass(frozen=True, kw_only=True)
class Idle(QLearner):
    speed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Busy(QLearner):
    """All options are read: by a kernel, by a method, and by a kernel of the library."""

    speed: float = 1.0
    start: float = 1.0
    bonus: float = 1.0
    update = monmdp.AGENTS.find("Intrinsic").update

    @staticmethod
    def act(memory, state, draws):
        return choose(memory.q[state], draws), memory.speed > 0

    def memory(self, world, steps, seed):
        return super().memory(world, steps, seed)._replace(discount=self.start)


def test_mistakes_with_plain_agents_are_explained():
    problem = monmdp.make("Loop")
    for agent, message in (
        (Unready(), r"Unready has act, but no start\(problem, seed\)"),
        (lambda problem, seed: object(), "needs the methods act and update"),
        (object(), "must be a name or an object of Agent"),
    ):
        with pytest.raises(MonMDPError, match=message):
            monmdp.train(problem, agent, steps=5)
    with pytest.raises(MonMDPError, match="Factory is not compiled"):
        Run(paper_job(problem, Factory, 5), 0)


def test_unused_options_are_reported():
    problem = monmdp.make("Loop")
    for agent, option in ((Idle(), "'speed' of Idle"), (Deaf(), "'volume' of Deaf"), (ignores, "'speed' of ignores")):
        with pytest.warns(MonMDPWarning, match=f"The option {option} changes nothing"):
            paper_job(problem, agent, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for used in (Busy(), *FORMS.values()):
            paper_job(problem, used, 5)


@dataclass(frozen=True, kw_only=True)
class Many(QLearner):
    """Options of all types."""

    number: int = 3
    share: float = 1
    flag: bool = True
    rates: Schedule = (1.0, 0.0)
    weights: list = (1, 2)
    word: str = "on"
    table: object = None

    @staticmethod
    def act(memory, state, draws):
        total = memory.number + memory.share + memory.flag + value_at(memory.rates, 9) + memory.weights[1]
        memory.q[state, 0] = total if memory.word == "on" else 0.0
        return choose(memory.q[state], draws), False

    def memory(self, world, steps, seed):
        assert self.table is None
        return super().memory(world, steps, seed)


def test_options_reach_the_memory_of_a_compiled_agent():
    """Numbers, text, lists and schedules are fields; one field has one type, so that nothing is compiled twice."""
    job = paper_job(monmdp.make("Loop"), Many(weights=[4, 5]), 10)
    memory = new_memory(job.agent, job.world, 10, 0)
    assert (memory.number, memory.flag, memory.word, memory.share) == (3, True, "on", 1.0)
    assert type(memory.share) is float
    assert [value_at(memory.rates, step) for step in (0, 9)] == [1.0, 0.0]
    assert memory.weights.tolist() == [4, 5]
    assert not hasattr(memory, "table")
    assert type(memory) is type(new_memory(job.agent, job.world, 10, 1))


def helper(value):
    return value


def agent_with(name, function):
    return dataclass(frozen=True)(type("Wrong", (Many,), {name: staticmethod(function), "__module__": __name__}))


WRONG = {
    "act of Wrong cannot be compiled (line ": ("act", lambda memory, s, d: (0, memory.numbr > 0)),
    "its memory has no field 'numbr'. Did you mean 'number'?": ("act", lambda memory, s, d: (0, memory.numbr > 0)),
    "An option of this type cannot be used in compiled code": ("act", lambda memory, s, d: (0, memory.table == 0)),
    "it calls helper, which is not compiled. Write @monmdp.kernel above helper.": (
        "begin",
        lambda memory, state, step: helper(state),
    ),
    "act of Wrong must return (action, exploring).": ("act", lambda memory, state, draws: 0),
    "begin of Wrong cannot be compiled: Signature mismatch": ("begin", lambda memory: None),
    "module 'numpy' has no attribute 'argmaxx'": ("begin", lambda memory, state, step: np.argmaxx(memory.q)),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_compile_is_explained_in_a_sentence(message):
    job = paper_job(monmdp.make("Loop"), agent_with(*WRONG[message])(), 10)
    reason = str(explained(type(job.agent), new_memory(job.agent, job.world, 10, 0), RuntimeError()))
    assert message in reason
    assert len(reason.splitlines()) == 1


def test_a_kernel_that_does_not_compile_fails_in_train_without_a_traceback_of_numba():
    wrong = agent_with("act", lambda memory, state, draws: (0, memory.numbr > 0))()
    with pytest.raises(MonMDPError, match="Did you mean 'number'") as raised:
        monmdp.train(monmdp.make("Loop"), wrong, 2, steps=10)
    assert raised.value.__suppress_context__
