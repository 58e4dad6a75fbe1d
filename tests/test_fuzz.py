"""Generated input of any kind: success, or a `MonMDPError` with one sentence; nothing else, and never for long."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import gymnasium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import monmdp
from monmdp import MonMDPError, Outcome, Rule, Step
from monmdp.cli import main
from monmdp.protocol import paper_job

#: Examples per test: a few in every run of the tests, more in the slow ones, 750 in all.
EXAMPLES = [pytest.param(25, id="quick"), pytest.param(150, id="many", marks=pytest.mark.slow)]

#: Sizes are small or absurd; numbers between them would be allowed and take long.
WHOLE = st.integers(-3, 5) | st.integers(2**63, 10**30) | st.just(-(10**24))
NUMBERS = WHOLE | st.floats() | st.sampled_from([1e308, -1e308, 1e100, 5e-324, -0.0, 0.5, math.nan, True])
TEXT = st.text(max_size=8) | st.sampled_from(
    ["", "auto", "\x1b[0m", "x" * 5000, "a\nb", "\ud800", "Ask", "Loop", "here"]
)
VALUES = st.recursive(
    st.none() | NUMBERS | TEXT | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXT | st.integers(0, 3), inner, max_size=2)
    ),
    max_leaves=5,
)
LOOP = monmdp.make("Loop")


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """Little memory, so that no example takes long."""
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 16 * 2**20)


def fuzz(examples: int, attempt: Callable[..., Any], **strategies: Any) -> None:
    """Call `attempt` with generated arguments; every error must be a MonMDPError with one sentence."""

    @settings(
        max_examples=examples,
        deadline=timedelta(seconds=10),
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(**strategies)
    def test(**generated: Any) -> None:
        try:
            attempt(**generated)
        except MonMDPError as error:
            text = str(error)
            assert "\n" not in text
            assert text.rstrip().endswith((".", "?"))
            assert len(text) < 5000

    test()


@st.composite
def specs(draw: Any, registry: Any) -> str:
    """A spec with options of the class, most with values that the class does not expect, or any text."""
    if draw(st.integers(0, 9)) == 0:
        return draw(TEXT)
    name = draw(st.sampled_from(registry.names()))
    known = [field.name for field in dataclasses.fields(registry.find(name))]
    chosen = draw(st.lists(st.sampled_from([*known, "nonsense"]), max_size=2))
    values = [draw(VALUES) for _ in chosen]
    inner = ", ".join(f"{option}={value!r}" for option, value in zip(chosen, values, strict=True))
    return f"{name}({inner}){draw(st.sampled_from(['', '', '', '()', ')', ' ', '(cost=1)']))}"


@pytest.mark.parametrize("examples", EXAMPLES)
def test_specs(examples):
    def attempt(environment: str, monitor: str, agent: str, discount: Any, steps: Any) -> None:
        problem = monmdp.make(environment, monitor)
        assert math.isfinite(monmdp.solve(problem).optimal_return)
        paper_job(problem, agent, steps)
        monmdp.make("Loop", discount=discount)

    fuzz(
        examples,
        attempt,
        environment=specs(monmdp.ENVIRONMENTS),
        monitor=specs(monmdp.MONITORS),
        agent=specs(monmdp.AGENTS),
        discount=VALUES,
        steps=WHOLE | VALUES,
    )


def toml(value: Any) -> str:
    """A value as TOML, roughly; what is not valid is part of the test."""
    return json.dumps(value, default=str).replace("null", "nan").replace("Infinity", "inf").replace("NaN", "nan")


@pytest.mark.parametrize("examples", EXAMPLES)
def test_sweep_files(examples, tmp_path):
    fields = [field.name for field in dataclasses.fields(monmdp.Sweep)]
    names = st.sampled_from(["Loop", "Walk", "Ask", "Full", "Naive", "Ask(cost=7)"]) | VALUES

    def attempt(lists: Any, field: str, value: Any, rest: str) -> None:
        rows = dict(zip(("environments", "monitors", "agents"), lists, strict=True)) | {"steps": 10, field: value}
        text = "[[sweep]]\n" + "".join(f"{name} = {toml(entry)}\n" for name, entry in rows.items()) + rest
        (tmp_path / "sweep.toml").write_text(text, errors="replace")
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            code = main(["reproduce", "--dry-run", "--sweep", f"{tmp_path}/sweep.toml", "--out", f"{tmp_path}/out"])
        assert (code, printed.getvalue().count("\n")) in ((0, 0), (2, 1)), printed.getvalue()

    fuzz(
        examples,
        attempt,
        lists=st.tuples(*[st.lists(names, max_size=2)] * 3) | st.just((["Loop"], ["Ask"], ["Naive"])),
        field=st.sampled_from(fields),
        value=VALUES,
        rest=st.sampled_from(["", "", "", "x = 1", "[[", "[[sweep]]\nseeds = 0"]) | TEXT,
    )


#: Public functions, each with one argument of any kind.
FUNCTIONS: list[Callable[[Any], Any]] = [
    monmdp.make,
    monmdp.solve,
    monmdp.diameter,
    monmdp.greedy_policy,
    monmdp.from_gymnasium,
    monmdp.MonitoredEnv,
    lambda value: monmdp.make("Loop", value),
    lambda value: monmdp.join(value, value),
    lambda value: monmdp.solve(LOOP, minimum_reward=value),
    lambda value: monmdp.policy_return(LOOP, value),
    lambda value: monmdp.goal_relative_diameter(LOOP, value),
    lambda value: monmdp.goal_relative_diameter(LOOP, monmdp.solve(LOOP).policy, value),
    lambda value: monmdp.train(value),
    lambda value: monmdp.train(LOOP, value, steps=0),
    lambda value: monmdp.train(LOOP, "Naive", seeds=value, steps=5),
    lambda value: monmdp.train(LOOP, "Naive", steps=value),
    lambda value: monmdp.train(LOOP, "Naive", steps=5, points=value),
    lambda value: monmdp.train(LOOP, "Naive", steps=5, evaluation=value),
    lambda value: monmdp.train(LOOP, "Naive", steps=5, threads=value),
    lambda value: monmdp.run_sweep(value, "results"),
    lambda value: monmdp.Sweep(["Loop"], ["Full"], ["Naive"], value, steps=5).jobs(),
    lambda value: monmdp.train_live(value, steps=5),
    lambda value: monmdp.train_live(gymnasium.make("FrozenLake-v1"), value, steps=0),
    lambda value: monmdp.record(LOOP, value, steps=0),
    lambda value: monmdp.MonitoredVectorEnv(LOOP, value),
    lambda value: LOOP.explain(value, "STAY"),
    lambda value: LOOP.state_index(value),
    lambda value: monmdp.Grid(value).table(),
]


@pytest.mark.parametrize("examples", EXAMPLES)
def test_calls(examples):
    fuzz(examples * 2, lambda function, value: function(value), function=st.sampled_from(FUNCTIONS), value=VALUES)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_classes(examples):
    """Properties and methods that return or raise anything."""
    parts = {
        monmdp.Environment: ("states", "actions", "starts", "layout", "outcomes", "button", "regions"),
        monmdp.Monitor: ("states", "actions", "start", "installed", "landmarks", "outcomes"),
    }

    def attempt(part: tuple[type, str], value: Any, error: bool) -> None:
        base, name = part

        def get(self: Any, *_: Any) -> Any:
            if error:
                raise KeyError(value)
            return value

        usual = {"outcomes": lambda self, *_: [Outcome() if base is monmdp.Monitor else Step("here")]}
        if base is monmdp.Environment:
            usual |= {"states": ("here",), "actions": ("GO",)}
        method = name in ("outcomes", "installed")
        pond = type("Pond", (base,), {**usual, name: get if method else property(get)})()
        monmdp.make(*([pond, "Button"] if base is monmdp.Environment else ["Loop", pond]))

    fuzz(
        examples,
        attempt,
        part=st.sampled_from([(base, name) for base, names in parts.items() for name in names]),
        value=VALUES,
        error=st.booleans(),
    )


@pytest.mark.parametrize("examples", EXAMPLES)
def test_outcomes(examples):
    """Steps and outcomes with any content; a problem that is accepted can be solved."""

    class Odd(monmdp.Monitor):
        states = ("low", "here")

        def outcomes(self, moment: Any) -> Any:
            return self.given

    def attempt(steps: Any, outcomes: Any, start: Any) -> None:
        rule = Rule(states=("here", 1), actions=("GO",), rule=lambda *_: steps, start=start, step_limit=7)
        odd = Odd()
        object.__setattr__(odd, "given", outcomes)
        assert math.isfinite(monmdp.solve(monmdp.make(rule, odd)).optimal_return)

    states = st.sampled_from(["here", "here", 1, None, "low"]) | VALUES
    chances = st.sampled_from([0.0, 0.5, 1.0]) | NUMBERS
    kinds = st.booleans() | VALUES
    step = st.builds(Step, states, NUMBERS | VALUES, st.just(1.0) | chances, kinds)
    outcome = st.builds(Outcome, NUMBERS | VALUES, chances, states, st.just(1.0) | chances, kinds)
    fuzz(
        examples,
        attempt,
        steps=st.lists(step, min_size=1, max_size=1) | st.lists(step | VALUES, max_size=3) | VALUES,
        outcomes=st.just([Outcome()]) | st.lists(outcome | VALUES, max_size=3) | VALUES,
        start=st.none() | VALUES,
    )
