"""The code of a user's agent is part of the identity of its runs: what changed runs again, and nothing else does."""

from __future__ import annotations

import itertools
import pickle
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeping import single_job

import monmdp
from monmdp import MonMDPError
from monmdp.report import page_data
from monmdp.study.results import Results
from monmdp.study.sweep import requested
from monmdp.training.fingerprint import code_of
from monmdp.training.job import identity

HELPERS = """
import numpy as np

import monmdp

DEEP = 0.25
TABLE = np.array([1.0, 2.0])
UNUSED = 1


@monmdp.kernel
def deeper(x):
    return x * DEEP


@monmdp.kernel
def scaled(x, factor=2.0):
    return factor * deeper(x) + TABLE[0]


def unused():
    return 5
"""
#: An agent that uses every kind of code that a user might write; it is identified here, not compiled.
AGENT = '''
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

import helpers
import monmdp
from helpers import scaled
from monmdp.agents import QLearner
from monmdp.agents.choices import choose, choose_any

LIMIT = 0.5
PAIR = (1, 2)
OPTIONS = {"rate": 0.1}


def closed(constant):
    @monmdp.kernel
    def inside(x):
        return x + constant

    return inside


added = closed(3.0)
half = partial(np.multiply, 0.5)


@cache
def remembered(x):
    return x + 6


class Settings:
    def __init__(self, width):
        self.width = width


SETTINGS = Settings(width=4)


@dataclass(frozen=True, kw_only=True)
class Base(QLearner):
    def guesses(self, world, seed):
        return 0.0 * super().guesses(world, seed)


@dataclass(frozen=True, kw_only=True)
class Mine(Base):
    """A docstring."""

    speed: float = 1.5
    sizes: list = field(default_factory=lambda: [7])
    stride = 11

    @staticmethod
    def act(memory, state, draws):
        """Another docstring."""
        value = scaled(memory.q[state, 0])  # a comment
        if helpers.scaled(value) < LIMIT or value in PAIR:
            return choose_any(13, draws), True
        return choose(memory.q[state], draws), False

    def memory(self, world, steps, seed):
        made = super().memory(world, steps, seed)
        made.q[:] = added(OPTIONS["rate"]) + half(self.speed) + self.stride + remembered(1) + SETTINGS.width
        return made

    @property
    def length(self):
        return [size + 17 for size in self.sizes]
'''


#: The modules of these tests.
NAMES = ("helpers", "script", "other", "__main__copy", "room", "monitor")


def load(name: str, text: str) -> types.ModuleType:
    """A module as Python imports it from a file."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of a test end with it."""
    for name in NAMES:
        monkeypatch.setitem(sys.modules, name, None)


def code(agent: str = AGENT, helpers: str = HELPERS, name: str = "script") -> str:
    load("helpers", helpers)
    return code_of(load(name, agent).Mine).digest


CHANGES = [
    ("LIMIT = 0.5", "LIMIT = 0.6"),
    ("PAIR = (1, 2)", "PAIR = (1, 3)"),
    ('"rate": 0.1', '"rate": 0.2'),
    ("closed(3.0)", "closed(4.0)"),
    ("x + constant", "x - constant"),
    ("np.multiply, 0.5", "np.multiply, 0.6"),
    ("np.multiply, 0.5", "np.add, 0.5"),
    ("x + 6", "x + 7"),
    ("width=4", "width=5"),
    ("0.0 * super()", "0.1 * super()"),
    ("speed: float = 1.5", "speed: float = 1.6"),
    ("lambda: [7]", "lambda: [8]"),
    ("stride = 11", "stride = 12"),
    ("choose_any(13", "choose_any(14"),
    ("(13, draws), True", "(13, draws), False"),
    ("size + 17", "size + 18"),
    ("value = scaled", "value = -scaled"),
    ("< LIMIT", "> LIMIT"),
    ("class Mine(Base)", "class Mine(QLearner)"),
    ("    @monmdp.kernel\n", "    @__import__('functools').partial(monmdp.kernel, fastmath=True)\n"),
]
HELPER_CHANGES = [
    ("DEEP = 0.25", "DEEP = 0.26"),
    ("[1.0, 2.0]", "[1.0, 2.5]"),
    ("factor=2.0", "factor=3.0"),
    ("x * DEEP", "x / DEEP"),
]
SAME = [
    ("  # a comment", ""),
    ('"""A docstring."""', '"""A better docstring."""'),
    ('        """Another docstring."""\n', ""),
    ("\nLIMIT = 0.5", "\n\n\n# moved\nLIMIT = 0.5"),
    ("value", "number"),
    ("speed: float", "speed: float | None"),
    ("from dataclasses", "import math\nfrom dataclasses"),
    ("PAIR = (1, 2)", "PAIR = (0 + 1, 2)\nOTHER = 3"),
]


def test_every_change_of_code_changes_it():
    plain = code()
    agents = [AGENT.replace(old, new) for old, new in CHANGES]
    helpers = [HELPERS.replace(old, new) for old, new in HELPER_CHANGES]
    assert AGENT not in agents
    assert HELPERS not in helpers
    digests = [plain, *(code(agent=agent) for agent in agents), *(code(helpers=text) for text in helpers)]
    repeated = [i for i, digest in enumerate(digests) if digest in digests[:i]]
    assert [[*CHANGES, *HELPER_CHANGES][i - 1] for i in repeated] == []


def test_what_changes_no_number_does_not_change_it():
    plain = code()
    for old, new in SAME:
        assert old in AGENT
        assert code(agent=AGENT.replace(old, new)) == plain, new
    for old, new in (("UNUSED = 1", "UNUSED = 2"), ("return 5", "return 6")):
        assert code(helpers=HELPERS.replace(old, new)) == plain
    assert code(name="__main__copy") == plain  # also where the script is imported or has another name


def test_it_is_the_same_after_the_code_ran():
    load("helpers", HELPERS)
    mine = load("script", AGENT).Mine
    before = code_of(mine)
    agent = pickle.loads(pickle.dumps(mine(speed=2.0)))
    assert (repr(agent)[:5], agent.length, agent == mine(speed=2.0)) == ("Mine(", [24], True)
    assert code_of(mine) == before
    assert {"speed", "sizes", "stride"} <= before.reads


def test_built_in_agents_have_their_earlier_identities():
    """Those of 0.1; results folders of that version are resumed."""
    earlier = {"Naive": "6f069c9b896cadca", "Directed(beta_bar=0.1)": "ee45328a5152a170"}
    for agent, expected in earlier.items():
        settings = single_job("Loop", "Ask", agent, steps=300, points=10).run_settings
        assert identity(settings) == expected
        assert "agent_code" not in settings


PLAIN = """
import numpy as np


class Plain:
    def __init__(self, problem, seed, step=0.5):
        self.random, self.step = np.random.default_rng(seed), step
        self.q = np.zeros((problem.n_states, problem.n_actions))

    def act(self, state):
        return int(self.random.integers(self.q.shape[1])), True

    def update(self, transition):
        self.q[transition.state, transition.action] += self.step * 1.0
"""
COMPILED = """
from dataclasses import dataclass

from monmdp.agents import QLearner
from monmdp.agents.choices import choose


@dataclass(frozen=True, kw_only=True)
class Compiled(QLearner):
    bonus: float = 0.5

    @staticmethod
    def act(memory, state, draws):
        memory.q[state, 0] += 0.001 * memory.bonus
        return choose(memory.q[state], draws), False
"""


def test_changing_one_constant_reruns_exactly_the_affected_runs(tmp_path):
    """In the folder, the runs of both versions are there, and readers need neither class."""

    other = PLAIN.replace("* 1.0", "* 2.0")
    compiled = {text: load("script", text).Compiled() for text in (COMPILED, COMPILED.replace("0.001", "0.1"))}
    before, after = compiled.values()
    messages: list[list[str]] = []

    def run(agent: Any, plain: str) -> tuple[int, int]:
        agents = [agent, load("other", plain).Plain, "Naive"]
        sweep = monmdp.Sweep(["Loop"], ["Full", "Ask"], agents, 2, steps=120, points=4)
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            report = monmdp.run_sweep(sweep, tmp_path)
        messages.append([str(warning.message) for warning in raised])
        assert report.failures == []
        return report.done, report.skipped

    assert run(before, PLAIN) == (12, 0)
    assert run(after, PLAIN) == (4, 8)
    assert run(after, other) == (4, 8)
    codes = [code_of(type(agent)).digest for agent in (before, after)]
    expected = f"also has runs of Compiled with other code: agent_code {codes[0]}; now it is {codes[1]}."
    assert [expected in "".join(warned) for warned in messages] == [False, True, True]
    assert [len(warned) for warned in messages] == [0, 1, 2]
    for versions in itertools.product((before, after), (PLAIN, other)):  # all of them are there now
        assert run(*versions) == (0, 12)
    for name in ("script", "other"):
        del sys.modules[name]
    results = Results(tmp_path)
    assert [agent.split(" [")[0] for agent in results.agents] == ["Naive", "Compiled", "Compiled", "Plain", "Plain"]
    for (_, _, agent), cell in results.cells.items():
        assert agent == "Naive" or f"agent_code {cell.settings['agent_code']}" in agent
    rows = monmdp.load(tmp_path).to_pandas()
    assert rows.groupby("cell", observed=True).size().tolist() == [10] * 10
    assert "Compiled" in str(page_data(results, (), None))
    trained = [monmdp.train(monmdp.make("Loop", "Ask"), agent, 2, steps=120, points=4) for agent in (before, after)]
    assert not np.array_equal(trained[0].q, trained[1].q)
    for curves in trained:
        mine = rows[rows["cell"] == identity(curves.settings)].sort_values(["seed", "step"])
        assert np.array_equal(mine["return"], curves.returns.ravel())
        monmdp.save(curves, tmp_path)
    assert len(Results(tmp_path).cells) == 10


MONITOR = """
from dataclasses import dataclass

import monmdp


@dataclass(frozen=True)
class Glance(monmdp.Monitor):
    actions = ("no-op", "look")

    def outcomes(self, moment):
        looked = moment.action == "look"
        yield monmdp.Outcome(-0.1 * looked, 0.5 * looked)
"""
ROOM = """
from dataclasses import dataclass

import monmdp


@dataclass(frozen=True)
class Room(monmdp.Environment):
    states = ("here", "there")
    actions = ("go",)

    def outcomes(self, state, action):
        yield monmdp.Step("there", reward=1.0, terminated=state == "there")
"""


def test_changed_environments_and_monitors():
    """Their arrays identify them, so that code that gives the same problem shares its runs."""

    def key(monitor: str = MONITOR, room: str = ROOM) -> str:
        sweep = monmdp.Sweep([load("room", room).Room()], [load("monitor", monitor).Glance()], ["Naive"], steps=50)
        return requested(sweep)[0].identity

    assert key(monitor=MONITOR.replace("looked = ", "# what the person does\n        looked = ")) == key()
    others = [
        key(), key(monitor=MONITOR.replace("-0.1", "-0.2")), key(monitor=MONITOR.replace("0.5 *", "0.4 *")),
        key(room=ROOM.replace("1.0", "2.0")), key(room=ROOM.replace('state == "there"', "True")),
    ]  # fmt: skip
    assert len(set(others)) == 5


UNIDENTIFIED = {
    "import threading\nTHING = threading.Lock()": r"Plain, in act → THING, uses <unlocked _thread.lock.*which cannot",
    "import numpy\nTHING = numpy.random.default_rng(0)": "make one from the seed of a run instead",
    "import random\nTHING = random.Random(0)": "make one from the seed of a run instead",
    "THING = (part for part in ())": "cannot be identified",
    "def THING():\n    import helpers\n    return helpers.x": "imports 'helpers' when it runs; import it at the top",
}


@pytest.mark.parametrize("thing", UNIDENTIFIED, ids=lambda thing: thing.splitlines()[-1])
def test_what_cannot_be_identified_is_refused(thing: str, tmp_path: Path):
    agent = load("script", thing + PLAIN.replace("return int", "THING\n        return int")).Plain
    sweep = monmdp.Sweep(["Loop"], ["Ask"], [agent], seeds=1, steps=10)
    refused: list[Callable[[], Any]] = [
        lambda: monmdp.run_sweep(sweep, tmp_path / "results"),
        lambda: monmdp.train(monmdp.make("Loop"), agent, steps=10),
    ]
    for call in refused:
        with pytest.raises(MonMDPError, match=UNIDENTIFIED[thing]):
            call()
    assert not (tmp_path / "results").exists()


def test_a_constant_that_changed_after_it_was_compiled_is_refused():
    """Numba would go on with the old value, and the runs would bear the identity of the new one."""
    load("helpers", HELPERS)
    script = load("script", AGENT)
    single_job("Loop", "Ask", script.Mine(), steps=10)
    single_job("Loop", "Ask", script.Mine(speed=3.0), steps=10)
    script.LIMIT = 0.9
    with pytest.raises(MonMDPError, match="code of Mine uses was changed after it was compiled"):
        single_job("Loop", "Ask", script.Mine(), steps=10)
    single_job("Loop", "Ask", load("script", AGENT.replace("LIMIT = 0.5", "LIMIT = 0.9")).Mine(), steps=10)


def test_functions_as_options_are_identified_by_their_code():
    """Their names in results have no address, which would differ from process to process."""
    text = PLAIN.replace("step=0.5", "step=lambda: 0.5").replace("self.step *", "self.step() *")
    plain = load("script", text).Plain
    options = [__import__("functools").partial(plain, step=step) for step in (lambda: 0.1, lambda: 0.1, lambda: 0.2)]
    settings = [single_job("Loop", "Ask", option, steps=10).run_settings for option in options]
    assert [identity(one) == identity(other) for one, other in itertools.pairwise(settings)] == [True, False]
    assert " at 0x" not in settings[0]["agent"]


@pytest.mark.parametrize("kind", ["property", "functools.cached_property", "staticmethod", "classmethod"])
def test_the_code_of_every_kind_of_method_counts(kind: str) -> None:
    def made(number: int) -> Any:
        space: dict[str, Any] = {"__name__": "own_module"}
        lines = ["import functools", "class Own:", f"    @{kind}", "    def rate(self):", f"        return {number}"]
        exec("\n".join(lines), space)
        return code_of(space["Own"])

    assert made(1) == made(1)
    assert made(1) != made(2)
