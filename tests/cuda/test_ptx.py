"""Kernels compile for a GPU without one, and without fused operations; failures become sentences."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu import DISTINCT_AGENTS, needs_compiler

import monmdp
from monmdp.agents.choices import choose
from monmdp.agents.q_learning import QLearner
from monmdp.cuda import compiling
from monmdp.cuda.packing import Evaluated, new_run, schema_of
from monmdp.cuda.schedule import EVALUATION, Program, Shape
from monmdp.kernels.compile import inlined
from monmdp.training.job import Job

pytestmark = needs_compiler
HOPPER = (9, 0)
#: Agents that compute logarithms or powers on the device, whose code fuses operations on purpose.
WITH_LOGARITHMS = ("QCounts", "MonitoredMBIE")

#: Agents whose kernels differ from those of another one in a line or two.
SIMILAR = ("Ignore", "Intrinsic", "Oracle", "RewardModel", "ZeroReward")


def ptx_of(agent: Any, noisy: bool = False) -> str:
    job = Job(monmdp.make("Loop", "Ask"), agent, 50, 5)
    schema = schema_of(new_run(job, 0, np.zeros(1, np.int64)))
    return compiling.compiled(Program(type(job.agent), schema, Shape(64, 8, 0), noisy), HOPPER)


@pytest.mark.parametrize(
    "agent", [pytest.param(name, marks=[pytest.mark.slow] * (name in SIMILAR)) for name in DISTINCT_AGENTS]
)
def test_every_device_agent_compiles(agent: str) -> None:
    ptx = ptx_of(agent)
    assert ".target sm_90" in ptx
    assert ptx.count(compiling.ENTRY) == 1
    if agent not in WITH_LOGARITHMS:
        assert "fma." not in ptx
    assert re.search(r"(add|mul|sub)\.f(32|64)", ptx) is None  # unrounded ones could be fused later


def test_kernels_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return ".visible .entry name(\n"

    assert [compiling.kept("key", make) for _ in range(3)] == [".visible .entry name(\n"] * 3
    assert len(made) == 1
    (kept,) = tmp_path.rglob("*.ptx")
    kept.write_text("damaged")
    assert compiling.ENTRY in compiling.kept("key", make)
    assert len(made) == 2
    assert compiling.ENTRY in compiling.kept("other key", make)
    assert len(made) == 3


def test_noise_is_compiled_only_if_needed() -> None:
    assert len(ptx_of("Naive", noisy=True)) > len(ptx_of("Naive"))


def test_evaluation_compiles() -> None:
    run = new_run(Job(monmdp.make("Loop", "Ask"), "Naive", 50, 5), 0, np.zeros(1, np.int64))
    schema = schema_of(Evaluated(run.snapshots, run.world, run.episodes))
    ptx = compiling.compiled(Program(None, schema, EVALUATION, False), HOPPER)
    assert "fma." not in ptx
    assert "atom" in ptx  # for the counter only; numbers are never added atomically


@inlined
def act_least_tried(memory, state, draws):  # type: ignore[no-untyped-def]
    n_actions = memory.q.shape[1]
    counts = memory.visits[state * n_actions : (state + 1) * n_actions]
    return choose(-counts, draws), True


@inlined
def act_first(memory, state, draws):  # type: ignore[no-untyped-def]
    return 0, False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Allocates(QLearner):
    """Creates an array at every step, which is impossible on a GPU."""

    act = act_least_tried
    device_kernel = "warp"


@dataclasses.dataclass(frozen=True, kw_only=True)
class First(QLearner):
    """Always takes the first action."""

    act = act_first
    device_kernel = "warp"


def test_user_agent_compiles() -> None:
    assert compiling.ENTRY in ptx_of(First())


def test_user_agent_that_does_not_compile_gets_one_sentence() -> None:
    with pytest.raises(monmdp.MonMDPError, match=r"^Allocates cannot run on a GPU: .* 'cpu' or 'auto'\.$") as raised:
        ptx_of(Allocates())
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)
