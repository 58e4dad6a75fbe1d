"""Inputs that once hung, ended in a stack trace or were accepted silently: each gives one sentence, within seconds."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import Environment, Grid, Monitor, MonMDPError, Outcome, Rule, Step
from monmdp.cli import main
from monmdp.errors import nearest
from monmdp.tables import markdown

BIG = str(10**24)
#: Words on the command line → a part of the sentence.
COMMANDS: dict[tuple[str, ...], str] = {
    # Numbers whose sums or squares would not be finite, or that fit into no array.
    ("solve", "Loop", "Ask(cost='0.2')"): "'cost' of Ask must be a number, not '0.2'",
    ("solve", "Loop", "Ask(cost=-1e308)"): "between -1e+100 and 1e+100, not -1e+308",
    ("solve", "Loop(reward_noise=1e200)"): "'reward_noise' of Loop must be between 0 and 1e+100",
    ("solve", "Loop", "--minimum-reward", "1e308"): "minimum reward",
    ("solve", "Loop(step_limit=100000000000000000000000)"): "step limit",
    ("solve", "Loop", "--discount", "None"): "discount",
    ("train", "Loop", "--agent", f"MonitoredMBIE(sweeps={BIG})", "--steps", "10"): "'sweeps' of MonitoredMBIE",
    ("train", "Loop", "--agent", "Naive", "--steps", BIG): "number of steps must be at most 1,000,000,000,000,000",
    ("watch", "Loop", "--seed", BIG): "The seed must be at most",
    ("watch", "Loop", "--fps", "nan"): "pictures per second must be finite",
    ("reproduce", "--budget", "1e300"): "The budget must be between 0 and 1e+100",
    ("reproduce", "--budget", "1e30"): "number of steps must be at most",
    # Sizes that do not fit.
    ("solve", "Empty(rows=1000000000)"): "'rows' of Empty must be at most 1,000,000",
    ("solve", "Empty(rows=5000, columns=5000)"): "25,000,000 cells needs 69.8 GiB of memory, and 6.4 GiB can be used",
    ("solve", "Empty(rows=1000000, columns=1000000)"): "choose a smaller environment",
    ("solve", "Empty", "Experts(n=10000)"): "18,000,000,000 outcomes",
    ("solve", "Empty", "Experts(n=1000000)"): "choose a smaller environment or monitor",
    ("solve", "Empty", "Experts(n=100)"): "180,000,000 outcomes needs 100.6 GiB of memory, and 6.4 GiB can be used",
    ("solve", "Empty", "Level(n=100000)"): "choose a smaller environment or monitor",
    ("solve", "Loop(step_limit=1000000000)", "--diameter"): "choose a shorter step limit",
    ("train", "Loop", "--agent", "Naive", "--seeds", str(10**12)): "number of seeds must be at most 1,000,000",
    ("train", "Loop", "--agent", "Naive", "--seeds", str(10**6)): "A result of 1,000,000 seeds and 1,000 points needs",
    ("train", "Loop", "--points", str(10**9), "--steps", str(10**9)): "number of points must be at most 10,000,000",
    ("reproduce", "--seeds", str(10**12)): "number of seeds must be at most 1,000,000",
    ("reproduce", "--seeds", str(10**6), "--envs", "Loop"): "A sweep can have 10,000,000 runs, not 36,000,000",
    # Names and specs.
    ("solve", "Empty(rows=3)()"): "'Empty(rows=3)()' cannot be parsed",
    ("solve", "Loop", "Ask(cost=0.5)(cost=7)"): "'Ask(cost=0.5)(cost=7)' cannot be parsed",
    ("solve", "Loop", f"Ask(cost={'-' * 5000}1)"): "cannot be parsed",
    ("solve", "Loop", f"Ask(cost={'[' * 5000})"): "cannot be parsed",
    ("solve", "Loop", "Ask(cost={[]: 1})"): "cannot be parsed",
    ("solve", f"Loop(step_limit={'9' * 5000})"): "cannot be parsed",
    ("solve", "Empty(start=[])"): "cannot start in ()",
    ("solve", "Empty(start={})"): "sum to 0, not to 1",
    ("solve", "Empty(start=[[]])"): "cannot start in",
    ("solve", "Empty(start={1: 'x'})"): "cannot start in 1",
    ("solve", "Loop", "Button(cell=[[]])"): "has no state",
    ("solve", "E" * 100_000): "There is no environment called 'EEE",
    ("train", "CartPole", "Ask"): "CartPole has no table of states.",
    ("figure", "a" * 5000): "There is no figure called 'aaa",
    ("figure", "returns" * 700): "There is no figure called 'returnsreturns",
    ("b" * 5000,): "There is no command 'bbb",
    ("solve", "Loop", f"Ask({'b' * 5000}=1)"): "Ask has no option 'bbb",
    ("reproduce", "--preset", ""): "There is no preset called ''",
    ("reproduce", "--preset", "quick", "--dry-run", "--threads", "-1"): "number of threads",
    ("reproduce", "--sweep", "a" * 5000): "cannot be read",
    ("solve", "\x1b[31mred"): r"'\x1b[31mred' is not a name",
    ("results", "\x1b[31mred\n"): r"\x1b[31mred",
}  # fmt: skip


@pytest.fixture
def small_machine(monkeypatch):
    """Memory of 8 GiB, so that what does not fit is the same everywhere."""
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 8 * 2**30)


def refused(capsys: Any, *words: str) -> str:
    """The one line of a command that fails with exit code 2, within 10 seconds of processor time."""
    started = time.process_time()
    assert main(list(words)) == 2
    assert time.process_time() - started < 10
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("monmdp: ")
    assert "\x1b" not in printed.err
    assert len(printed.err) < 6000
    return printed.err


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words)[:60].encode("unicode_escape").decode())
def test_commands(capsys, tmp_path, monkeypatch, small_machine, words):
    monkeypatch.chdir(tmp_path)
    assert COMMANDS[words] in refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


#: The content of a TOML file → a part of the sentence.
SWEEP_FILES = {
    "x = " + "[" * 2000 + "]" * 2000: "too many arrays",
    "x = " + "{x = " * 2000 + "1" + "}" * 2000: "too many arrays",
    "[[sweep]]\nsteps = 1" + "0" * 24: "number of steps must be at most",
    "[[sweep]]\nseeds = 1" + "0" * 5000: "not a TOML file",
    "[[sweep]]\nenvironments = [1979-05-27]": "environment must be a name",
    "[[sweep]]\nenvironments = [[['Loop']]]": "environment must be a name",
    "[[sweep]]\nevaluation = ['exact']": "evaluation",
    "[[sweep]]\nbudget = inf": "budget must be finite",
    "[[sweep]]\nbudget = true\nsteps = 10": None,
    "[[sweep]]\npoints = 99999999999": "number of points",
}


@pytest.mark.parametrize("text", SWEEP_FILES, ids=lambda text: text[:40].encode("unicode_escape").decode())
def test_sweep_files(capsys, tmp_path, text):
    (tmp_path / "bad.toml").write_text(text)
    words = ("reproduce", "--sweep", str(tmp_path / "bad.toml"), "--dry-run", "--envs", "Loop", "--monitors", "Full")
    words = words[:4] if "environments" in text else words
    if SWEEP_FILES[text] is None:
        assert main(list(words)) == 0
    else:
        assert SWEEP_FILES[text] in refused(capsys, *words)


LOOP = monmdp.make("Loop")
#: Calls in Python → a part of the sentence.
CALLS: dict[str, tuple[Any, str]] = {
    "solve(None)": (lambda: monmdp.solve(None), "A problem must be made by monmdp.make, not None."),
    "diameter(5)": (lambda: monmdp.diameter(5), "A problem must be made by monmdp.make, not 5."),
    "load(5)": (lambda: monmdp.load(5), "The results folder must be a path, not 5."),
    "mean_curves(5)": (lambda: monmdp.mean_curves(5), "The results folder must be a path, not 5."),
    "policy_return(p, 'x')": (lambda: monmdp.policy_return(LOOP, "x"), "A policy must be an array of numbers, not 'x'"),
    "policy_return(5)": (lambda: monmdp.policy_return(5, [[1.0]]), "A problem must be made by monmdp.make, not 5."),
    "policy_return(p, ragged)": (lambda: monmdp.policy_return(LOOP, [[1.0], [0.5, 0.5]]), "array of numbers"),
    "policy_return(p, shape)": (lambda: monmdp.policy_return(LOOP, [[1.0]]), "has shape (9, 5), not (1, 1)"),
    "policy_return(reward)": (
        lambda: monmdp.policy_return(LOOP, np.full((9, 5), 0.2), "x"), "The reward of each outcome must be an array",
    ),
    "greedy_policy('x')": (lambda: monmdp.greedy_policy("x"), "Action values must be an array of numbers"),
    "greedy_policy([1])": (lambda: monmdp.greedy_policy([1.0]), "Action values must have the shape [S, A]"),
    "goal_relative_diameter(5)": (lambda: monmdp.goal_relative_diameter(5, None), "made by monmdp.make, not 5"),
    "goals=5": (lambda: monmdp.goal_relative_diameter(LOOP, np.full((9, 5), 0.2), 5), "Goals must be a list"),
    "goals=['x']": (lambda: monmdp.goal_relative_diameter(LOOP, np.full((9, 5), 0.2), ["x"]), "A goal must be a whole"),
    "make(discount=None)": (lambda: monmdp.make("Loop", discount=None), "The discount must be a number, not None."),
    "env(discount=None)": (lambda: monmdp.MonitoredEnv("Loop", discount=None), "discount must be a number, not None"),
    "make(5)": (lambda: monmdp.make(5), "The environment must be a name or an object of Environment, not 5."),
    "make([])": (lambda: monmdp.make("Loop", []), "The monitor must be a name or an object of Monitor, not []."),
    "join(5, 5)": (lambda: monmdp.join(5, 5), "The environment must be an object of Environment, not 5."),
    "join(monitor)": (lambda: monmdp.join(Grid([".C"]), 5), "The monitor must be an object of Monitor, not 5."),
    "from_gymnasium(5)": (lambda: monmdp.from_gymnasium(5), "A Gymnasium environment"),
    "train('Empty')": (lambda: monmdp.train("Empty"), "A problem must be made by monmdp.make, not 'Empty'."),
    "record(5)": (lambda: monmdp.record(5, dict, 10), "A problem must be made by monmdp.make, not 5."),
    "run_sweep(5)": (lambda: monmdp.run_sweep(5, "x"), "Sweeps must be an object of monmdp.Sweep"),
    "run_sweep([5])": (lambda: monmdp.run_sweep([5], "x"), "Sweeps must be an object of monmdp.Sweep"),
    "train_live(id)": (
        lambda: monmdp.train_live("FrozenLake-v1", steps=10), "gymnasium.make('Blackjack-v1'), not 'FrozenLake-v1'",
    ),
    "train_live(reward_range)": (
        lambda: monmdp.train_live(gymnasium.make("FrozenLake-v1"), steps=10, reward_range=5), "reward range",
    ),
    "a huge whole number": (lambda: monmdp.train(LOOP, "Naive", 10**5000), "at most 1,000,000, not"),
    "endless seeds": (lambda: monmdp.train(LOOP, "Naive", iter(int, 1), steps=1), "number of seeds must be at most"),
    "reward 1e200": (lambda: monmdp.make(rule(Step("here", 1e200))), "between -1e+100 and 1e+100, not 1e+200"),
    "a replaced reward": (
        lambda: dataclasses.replace(
            LOOP, environment=dataclasses.replace(LOOP.environment, reward=LOOP.environment.reward + 1e200)
        ),
        "'reward' that is not finite or not in -1e+100 … 1e+100",
    ),
    "many environments": (lambda: monmdp.MonitoredVectorEnv(LOOP, 10**12), "1,000,000,000,000 environments needs"),
    "endless states": (lambda: monmdp.make(Rule(states=iter(int, 1), actions=("GO",))), "must be a list of labels"),
    "too many states": (lambda: monmdp.make(Rule(states=range(10**10), actions=("GO",))), "declare fewer states"),
    "letters as actions": (lambda: monmdp.make(Rule(states=("here",), actions="GO")), "must be a list of labels"),
    "a map that is no list": (lambda: monmdp.make(Grid(5)), "must be a list of rows"),
    "a map of numbers": (lambda: monmdp.make(Grid([[1], [2]])), "must be text"),
}  # fmt: skip


def rule(*steps: Any) -> Rule:
    return Rule(states=("here",), actions=("GO",), rule=lambda state, action: steps, title="Mine")


def error_of(call: Any) -> str:
    started = time.process_time()
    with pytest.raises(MonMDPError) as error:
        call()
    assert time.process_time() - started < 10
    assert "\n" not in str(error.value)
    assert str(error.value).endswith((".", "?"))
    return str(error.value)


@pytest.mark.parametrize("name", CALLS)
def test_calls(small_machine, name):
    call, expected = CALLS[name]
    assert expected in error_of(call)


# Classes of users


def raises(*_: Any) -> Any:
    raise KeyError("pond")


def later(*_: Any) -> Any:
    yield Step("here", probability=0.5)
    raise ZeroDivisionError


def endless(*_: Any) -> Any:
    while True:
        yield Step("here", probability=0.0)


#: What a rule does → a part of the sentence.
RULES = {
    "tuples": (lambda *_: [("here", 1.0)], "must be Step objects, not ('here', 1.0)."),
    "dicts": (lambda *_: [{"next_state": "here"}], "must be Step objects, not {'next_state': 'here'}."),
    "one dict": (lambda *_: {"here": 1.0}, "must be Step objects, not 'here'."),
    "outcomes of a monitor": (lambda *_: [Outcome()], "must be Step objects, not Outcome("),
    "a number": (lambda *_: 5, "must yield Step objects or list them, not 5."),
    "a list as a state": (lambda *_: [Step(["here"])], "leads to ['here'], which is not one of its states"),
    "an exception": (raises, "outcomes, for action 'GO' in state 'here' of Mine, raised KeyError: 'pond'."),
    "an exception while yielding": (later, "raised ZeroDivisionError."),
    "no end": (endless, "must be at most 1,000,000, and there are more"),
    "a wrong call": (lambda: [], "raised TypeError"),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    function, expected = RULES[name]
    message = error_of(lambda: monmdp.make(Rule(states=("here",), actions=("GO",), rule=function, title="Mine")))
    assert expected in message
    assert "action 'GO' in state 'here' of Mine" in message


def broken(base: type, name: str, value: Any) -> Any:
    """An object of a class Pond whose property or method returns a value, or raises an exception."""

    def get(self: Any, *_: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    get.__code__ = get.__code__.replace(co_name=name)
    method = name in ("outcomes", "installed")
    options = {"outcomes": lambda self, *_: [Outcome() if base is Monitor else Step("here")]}
    if base is Environment:
        options |= {"states": ("here",), "actions": ("GO",)}
    return type("Pond", (base,), {**options, name: get if method else property(get)})()


PARTS = {
    Environment: ("states", "actions", "starts", "layout", "outcomes"),
    Monitor: ("states", "actions", "start", "installed", "landmarks", "outcomes"),
}


@pytest.mark.parametrize(("base", "name"), [(base, name) for base, names in PARTS.items() for name in names])
def test_errors_inside_a_class_name_the_class_and_the_method(base, name):
    pond = broken(base, name, ZeroDivisionError("no water"))
    message = error_of(lambda: monmdp.make(*([pond] if base is Environment else ["Loop", pond])))
    assert "Pond" in message
    assert name in message
    assert "raised ZeroDivisionError: no water." in message


@pytest.mark.parametrize("value", [5, None, "x", [[]], [{}], {"x": "y"}, math.nan, object(), [5], np.zeros(3)])
@pytest.mark.parametrize(("base", "name"), [(base, name) for base, names in PARTS.items() for name in names])
def test_wrong_values_inside_a_class_name_the_class(base, name, value):
    """They are refused, or harmless: a layout is not used before a picture is drawn."""
    pond = broken(base, name, value)
    try:
        monmdp.make(*([pond] if base is Environment else ["Loop", pond]))
    except MonMDPError as error:
        message = str(error)
        assert "Pond" in message
        assert "\n" not in message


def test_a_class_that_cannot_be_made_is_named():
    @dataclasses.dataclass(frozen=True)
    class Marsh(Environment):
        def __post_init__(self):
            raise RuntimeError("too wet")

    registry = monmdp.registry.Registry("environment", Environment)
    registry.add(Marsh)
    assert error_of(lambda: registry.build("Marsh")) == "Marsh raised RuntimeError: too wet."


# Live training


class Pool(gymnasium.Env):
    """One step per episode, with the given reward and observation."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward: Any = 0.0, observation: Any = 0, first: Any = 0) -> None:
        self.outcome, self.first = (observation, reward, True, False, {}), first

    def reset(self, *, seed=None, options=None):
        return self.first, {}

    def step(self, action):
        return self.outcome


@pytest.mark.parametrize("monitor", ["Full", "Ask"])
@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (Pool(reward=math.nan), "must be finite, not nan"),
        (Pool(reward=math.inf), "must be finite, not inf"),
        (Pool(reward=1e300), "between -1e+100 and 1e+100"),
        (Pool(reward="x"), "must be a number, not 'x'"),
        (Pool(observation=-1), "returned the observation -1, which is not in its observation space, Discrete(2)"),
        (Pool(observation=2), "returned the observation 2"),
        (Pool(observation=None), "returned the observation None"),
        (Pool(first=-1), "returned the observation -1"),
    ],
)
def test_live_environments(monitor, pool, expected):
    agent = "Naive(initial_q=0.0)"
    assert expected in error_of(lambda: monmdp.train_live(pool, monitor, agent, steps=5, test_env=Pool()))


def test_live_sizes_and_monitors(small_machine):
    pool = Pool()
    pool.observation_space = gymnasium.spaces.MultiDiscrete([10**6] * 4)
    message = error_of(lambda: monmdp.train_live(pool, agent="Naive", steps=5, test_env=Pool()))
    assert "choose a smaller" in message
    assert f"{2 * 10**24:,} pairs" in message, "two actions in each state"
    pond = broken(Monitor, "outcomes", [("x", 1.0)])
    agent = "Naive(initial_q=0.0)"
    message = error_of(lambda: monmdp.train_live(Pool(), pond, agent, steps=5, test_env=Pool()))
    assert "Pond" in message
    assert "must be Outcome objects, not ('x', 1.0)" in message
    for wrong in (1.0, (0.0, 0.5, 1.0)):
        message = error_of(lambda wrong=wrong: monmdp.train_live(Pool(), agent=agent, steps=5, reward_range=wrong))
        assert "the smallest and the largest reward" in message


# Output


def run(*words: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "monmdp", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("words", [["list"], ["--version"], ["list", "--json"]])
def test_output_that_cannot_be_written(words):
    with open("/dev/full", "w") as full:
        done = run(*words, stdout=full)
    assert (done.returncode, done.stderr) == (
        2,
        "monmdp: The output cannot be read or written: No space left on device.\n",
    )


def test_output_in_ascii():
    done = run("list", PYTHONIOENCODING="ascii", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "23 environments" in done.stdout
    assert done.stdout.isascii()


def test_names_cannot_control_a_terminal_or_a_page(capsys):
    """A results folder of someone else may have any names."""
    from monmdp.cli.shared import new_console, print_line
    from monmdp.tables import terminal

    name = "\x1b]0;title\x07<script>alert(1)</script>|\n\u202e"
    console = new_console()
    console.print(terminal(("name",), [[name]], name))
    print_line(console, name)
    printed = capsys.readouterr().out
    assert not set("\x1b\x07\u202e") & set(printed)
    assert r"\x1b]0;title\x07" in printed
    table = markdown(["name"], [[name], ["< 50%"]])
    assert len(table.splitlines()) == 4
    assert "<script" not in table
    assert "</script" not in table
    assert "| < 50% |" in table


def test_hints_for_long_names_and_long_lists():
    names = [f"name {number}" for number in range(10**5)]
    assert nearest("x" * 10**6, names).endswith("name 99, ….")
    assert nearest("nam 77", names) == "Did you mean 'name 77'?"
