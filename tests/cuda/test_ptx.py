"""Kernels compile for a GPU without one: all agents, without fused operations; others get a sentence."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from gpu import needs_compiler
from monmdp.cuda.run import new_run
from monmdp.cuda.snapshots import Evaluated

import monmdp
from monmdp.agents.base import QLearner, update_q_learner
from monmdp.cuda.views import schema_of
from monmdp.kernels.compile import inlined
from monmdp.study.sweep import PAPER_AGENTS
from monmdp.training.evaluation import choose_best
from monmdp.training.job import Job

pytestmark = needs_compiler
HOPPER = (9, 0)
#: Agents that take logarithms or powers on the device, in whose code fused operations are meant.
WITH_LOGARITHMS = ("QCounts", "MonitoredMBIE")


def compiled(agent: Any, noisy: bool = False) -> str:
    from monmdp.cuda.kernels import compiled_for

    job = Job(monmdp.make("Loop", "Ask"), agent, 50, 5)
    return compiled_for(type(job.agent), schema_of(new_run(job, 0, job.stop)), HOPPER, 64, 8, noisy).ptx


@pytest.mark.parametrize("agent", [name for name in monmdp.AGENTS if name != "DirectedModel"])
def test_every_agent_compiles(agent: str) -> None:
    ptx = compiled(agent)
    assert ".target sm_90" in ptx
    assert len(re.findall(r"\.visible \.entry", ptx)) == 1
    if agent not in WITH_LOGARITHMS:
        assert "fma." not in ptx
    assert re.search(r"(add|mul|sub)\.f(32|64)", ptx) is None  # unrounded ones could be fused later


def test_kernels_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from monmdp.cuda import compiling

    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    made: list[int] = []

    def make() -> compiling.Compiled:
        made.append(1)
        return compiling.Compiled(".visible .entry name(\n", "name")

    assert [compiling.kept("key", make) for _ in range(3)] == [make()] * 3
    assert len(made) == 2
    (kept,) = tmp_path.rglob("*.ptx")
    kept.write_text("damaged")
    assert compiling.kept("key", make).entry == "name"
    assert len(made) == 3
    assert compiling.kept("other key", make).entry == "name"
    assert len(made) == 4


def test_noise_is_compiled_only_where_it_is_needed() -> None:
    assert set(PAPER_AGENTS) <= set(monmdp.AGENTS)
    assert len(compiled("Naive", noisy=True)) > len(compiled("Naive"))


def test_the_evaluation_compiles() -> None:
    from monmdp.cuda.evaluation import compiled_evaluation

    job = Job(monmdp.make("Loop", "Ask"), "Naive", 50, 5)
    run = new_run(job, 0, job.stop)
    ptx = compiled_evaluation(schema_of(Evaluated(run.snapshots, run.world)), HOPPER).ptx
    assert "fma." not in ptx
    assert "atom" in ptx  # of the counter; numbers are never added so


@inlined
def act_least_tried(memory, state, step, key):  # type: ignore[no-untyped-def]
    n_actions = memory.q.shape[1]
    counts = memory.visits[state * n_actions : (state + 1) * n_actions]
    return choose_best(-counts, key, 2 * step + 1), True


@inlined
def act_first(memory, state, step, key):  # type: ignore[no-untyped-def]
    return 0, False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Allocates(QLearner):
    """Makes a new array at every step, which devices cannot."""

    act = act_least_tried
    update = update_q_learner

    def memory(self, world: Any, steps: int, seed: int) -> Any:
        return self.common(world, steps, seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class First(Allocates):
    """Always the first action."""

    act = act_first


def test_an_own_agent_compiles() -> None:
    assert ".visible .entry" in compiled(First(alpha=1.0, initial_q=0.0))


def test_an_own_agent_that_does_not_compile_gets_a_sentence() -> None:
    with pytest.raises(monmdp.MonMDPError, match=r"^Allocates cannot run on a GPU: .* 'cpu' or 'auto'\.$") as told:
        compiled(Allocates(alpha=1.0, initial_q=0.0))
    assert "\n" not in str(told.value)
    assert "\x1b" not in str(told.value)
