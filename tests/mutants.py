"""Mutation testing: small faults in copies of the package, each of which some test should notice.

    python tests/mutants.py [--seed 0] [--count 160] [--only AREA-OR-FILE] [--like REGEX] [--list] [--out FILE]

A fault changes one operator, comparison, condition, constant, argument or statement. The same seed chooses the same
faults until their own functions change. Only the tests in `AREAS` run, until one fails or the time limit is over; both
count as caught. Faults in kernels run without compilation: a minute becomes seconds, and indices are checked.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import itertools
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.progress import Progress

from monmdp.tables import markdown

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src/monmdp")
#: Where copies are made; compiled kernels of the original are kept there between calls.
SLOTS = ROOT / "build" / "mutants"
PYTEST = ("-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0")
SECONDS = 120


RANDOM, NOISE = "random everywhere", "reward noise, rewards hidden at random"
HIDDEN, SLIPS = "never shown, or shown at times", "slips, several starts, an end by the monitor"


def learning(*agents: str) -> list[str]:
    """Frozen trajectories of agents."""
    return [f"tests/test_trajectories.py::test_agent_trajectories_are_unchanged[{agent}]" for agent in agents]


def twins(agent: str, *kinds: str) -> list[str]:
    """Comparisons of an agent with its reference implementation."""
    return [f"tests/learning/test_twins.py::test_compiled_and_plain_runs_are_equal[{agent}-{kind}]" for kind in kinds]


def known(agent: str, kind: str = SLIPS) -> str:
    """The same of an agent that knows the monitor."""
    return f"tests/learning/test_twins.py::test_planning_with_a_known_monitor[{agent}(known_monitor=True)-{kind}]"


def memory(agent: str) -> str:
    """The estimate of an agent's memory."""
    return f"tests/learning/test_memory_limits.py::test_estimated_memory[{agent}]"


KNOWN = ["tests/learning/test_known_monitor.py", "-k", "planning or whole_model or not_in_it or alike or ended"]
COSTS = "tests/learning/test_costs_of_exploration.py::test_"
BY_OUTCOME = [COSTS + "a_reward_by_outcome", COSTS + "an_end_is_an_outcome_of_its_own_unless_the_monitor_always_ends"]
MODEL_RUNS = "tests/learning/test_directed_model_runs.py::test_"
RANGE = "tests/learning/test_live.py::test_optimistic_agents_need_a_range_of_rewards"
BY_HAND = "tests/learning/test_mbie_by_hand.py"
LOOP = [*learning("Naive", "Oracle", "Ignore", "MonitoredMBIE"), *twins("Naive", NOISE, SLIPS)]
MODELS = [
    *learning("DirectedModel"), *twins("DirectedModel", RANDOM, HIDDEN, SLIPS), known("DirectedModel"),
    known("DirectedModel", "a step limit that cuts off part of the map"),
]  # fmt: skip
SWEEPS = [f"tests/sweeps/test_{name}.py" for name in ("store", "resume", "save", "summary", "damage", "compaction")]
SLOW_PROTOCOL = "tests/learning/test_protocol.py::test_training_takes_the_protocol"
EXPORT = ["tests/analysis/test_export.py", "--deselect=tests/analysis/test_export.py::test_wandb_offline_reads_it_back"]
EVALUATION = "tests/learning/test_evaluation.py::test_"
WATCH = "tests/learning/test_cli_watch.py::test_"
PROTOCOL = ["tests/learning/test_protocol.py", f"--deselect={SLOW_PROTOCOL}"]
FIGURE_LIST = "tests/analysis/test_figures.py::test_the_list_names_every_figure"
PLAIN = ["tests/learning/test_plain_agents.py"]
PAPER = ["tests/analysis/test_claims.py"]
#: Area → module → tests that run for a fault in it, the quickest first.
AREAS: dict[str, dict[str, list[str]]] = {
    "kernels": {
        "exact/policy_iteration.py": ["tests/test_solve_methods.py", "tests/test_solve_near_one.py"],
        "kernels/bellman.py": [*learning("MonitoredMBIE"), "tests/test_hitting.py", "tests/test_solve.py"],
        "kernels/random.py": ["tests/test_random_streams.py", *learning("Naive")],
        "kernels/references.py": ["tests/test_references.py"],
        "kernels/returns.py": [
            f"{EVALUATION}test_episodes_have_a_stream_of_their_own",
            f"{EVALUATION}any_values_in_any_order[True-Walk(step_limit=2) + Random]",
            f"{EVALUATION}any_values_in_any_order[False-Empty + Ask]",
            f"{EVALUATION}any_values_in_any_order[True-Cliff(step_limit=None) + LimitedTime]",
        ],
        "kernels/stepping.py": [*LOOP[:5], "tests/test_simulation.py"],
        "training/loop.py": [
            *LOOP, f"{EVALUATION}final_tables_do_not_depend_on_evaluation", *twins("DirectedModel", SLIPS),
        ],
        "training/metrics.py": [*LOOP, *learning("Directed"), "tests/learning/test_record.py"],
    },
    "agents": {
        "agents/baselines.py": [*learning("UCB", "QCounts", "Intrinsic"), "tests/learning/test_baselines.py"],
        "agents/choices.py": [*learning("Naive", "UCB", "Optimism", "Directed"), "tests/learning/test_ties.py"],
        "agents/directed.py": [*learning("Directed"), memory("Directed"), *twins("Directed", RANDOM, HIDDEN)],
        "agents/directed_model.py": [*MODELS, memory("DirectedModel"), f"{MODEL_RUNS}bad_options", RANGE],
        "agents/factored_model.py": MODELS,
        "agents/outcome_rewards.py": [*MODELS, *BY_OUTCOME],
        "agents/goals.py": [*MODELS, f"{COSTS}answers_are_limited", f"{COSTS}enough_answers_are_as_good_as_no_limit"],
        "agents/known_monitor.py": [known("MonitoredMBIE"), known("DirectedModel"), *KNOWN],
        "agents/mbie.py": [
            *learning("MonitoredMBIE"),
            known("MonitoredMBIE"),
            memory("MonitoredMBIE"),
            *twins("MonitoredMBIE", RANDOM, HIDDEN),
            RANGE,
            BY_HAND,
            f"--deselect={BY_HAND}::test_memory_grows_with_what_is_known",
            f"--deselect={BY_HAND}::test_without_bonuses_the_true_model_gives_the_true_values",
        ],
        "agents/planning.py": MODELS,
        "agents/q_learning.py": [*learning("Naive", "Oracle"), *twins("Naive", NOISE)],
        "agents/schedules.py": ["tests/learning/test_schedules.py", *learning("Naive")],
        "agents/unobserved.py": [*learning("ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential", "Oracle")],
    },
    "protocol": {
        "protocol.py": PROTOCOL,
        "training/compile_errors.py": PLAIN,
        "training/curves.py": ["tests/analysis/test_compare.py", "tests/learning/test_curves.py"],
        "training/fingerprint.py": ["tests/sweeps/test_changed_code.py"],
        "training/job.py": [
            "tests/learning/test_bad_training_input.py", "tests/sweeps/test_identity.py", *PLAIN, *PROTOCOL,
            "tests/learning/test_memory_limits.py",
        ],
        "training/learner.py": [*PLAIN, "tests/learning/test_record.py"],
        "training/games.py": ["tests/learning/test_live.py", "tests/test_refused_input.py", "-k", "live or Pool"],
        "training/live.py": ["tests/learning/test_live.py", "tests/test_refused_input.py", "-k", "live or Pool"],
        "training/live_job.py": ["tests/sweeps/test_live_worlds.py"],
        "training/record.py": ["tests/learning/test_record.py", "tests/learning/test_live.py"],
    },
    "store": {
        "study/compare.py": ["tests/analysis/test_compare.py"],
        "study/export.py": EXPORT,
        "study/results.py": ["tests/sweeps/test_grids.py", *SWEEPS, "tests/sweeps/test_cli_results.py"],
        "study/runner.py": [*SWEEPS[:2], "tests/sweeps/test_plan.py", "tests/sweeps/test_progress.py",
            "tests/sweeps/test_failures.py", "tests/sweeps/test_disk_full.py"],
        "study/snapshots.py": [
            "tests/analysis/test_snapshots.py",
            f"{WATCH}the_picture_agrees_with_the_reference_implementation",
            f"{WATCH}steps_one_by_one_are_the_same_run",
        ],
        "study/store.py": [*SWEEPS, "tests/sweeps/test_readers.py", "tests/sweeps/test_disk_full.py",
            "tests/sweeps/test_forged_files.py"],
        "study/sweep.py": [
            "tests/sweeps/test_plan.py", "tests/sweeps/test_budget.py", "tests/sweeps/test_own_sweeps.py",
            "tests/sweeps/test_bad_sweeps.py", *SWEEPS[:1],
        ],
    },
    "statistics": {
        "statistics.py": ["tests/analysis/test_statistics.py", "-k", "not cover and not half_width and not uniform"],
    },
    "claims": {"paper/claims.py": PAPER, "paper/evidence.py": PAPER, "paper/theorem.py": PAPER},
    "cli": {
        "cli/__init__.py": ["tests/test_cli.py", "tests/test_bad_input.py"],
        "cli/grids.py": ["tests/test_cli.py", "tests/test_explain.py"],
        "cli/machine.py": ["tests/test_doctor.py", "tests/test_cli.py", f"{WATCH}bench_measures_every_agent"],
        "cli/problems.py": ["tests/test_cli.py", "tests/test_bad_input.py", "tests/test_explain.py"],
        "cli/reproduce.py": [f"tests/sweeps/test_{name}.py" for name in ("cli_reproduce", "own_sweeps", "progress")],
        "cli/results.py": [
            "tests/sweeps/test_cli_results.py", "tests/sweeps/test_compaction.py", *PAPER, *EXPORT, FIGURE_LIST,
        ],
        "cli/shared.py": ["tests/analysis/test_compare.py", "tests/test_cli.py", "tests/learning/test_cli_training.py"],
        "cli/training.py": [
            "tests/analysis/test_compare.py",
            *(f"tests/learning/test_{name}.py" for name in ("cli_training", "cli_watch", "watch_keys")),
        ],
    },
    "cuda": {
        "cuda/packing.py": ["tests/cuda/test_packing.py", "tests/cuda/test_views.py", "tests/cuda/test_emulated.py"],
        "cuda/schedule.py": ["tests/cuda/test_schedule.py", "tests/cuda/test_waves.py"],
    },
}  # fmt: skip
#: Faults in these modules run without compilation; those in `KERNELS` change kernels.
INTERPRETED = (
    "agents/", "kernels/bellman", "kernels/random", "kernels/returns", "kernels/stepping", "training/loop",
    "training/metrics",
)  # fmt: skip
KERNELS = (*INTERPRETED, "kernels/")

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
#: Arguments that only check or only describe, and functions whose first two arguments are not worth swapping.
IDLE = ("strict", "stacklevel", "help", "metavar", "style")
SYMMETRIC = ("min", "max", "zip", "getattr", "hasattr", "isinstance", "np.minimum", "np.maximum", "Text", "option")


@dataclass(frozen=True)
class Mutant:
    """A fault: bytes first:last of a module are replaced."""

    area: str
    module: str
    line: int
    first: int
    last: int
    before: str
    after: str
    key: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.change}"

    @property
    def change(self) -> str:
        return f"`{shortened(self.before)}` → `{shortened(self.after)}`".replace("|", r"\|")


def shortened(code: str) -> str:
    words = " ".join(code.split())
    return words if len(words) <= 60 else f"{words[:57]}..."


def altered(node: Any, **fields: Any) -> Any:
    """A copy of a node with other fields."""
    return type(node)(**{**{name: getattr(node, name, None) for name in node._fields}, **fields})


def starred(*arguments: ast.AST) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in arguments)


def changes(node: Any) -> Iterator[tuple[Any, Any]]:
    """The faults of one node: what is replaced, and by what; None drops it."""
    kind = type
    match node:
        case ast.Compare(ops=[op]):
            yield node, altered(node, ops=[COMPARISONS[kind(op)]()])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if kind(op) in OPERATORS:
            yield node, altered(node, op=OPERATORS[kind(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1 if abs(value) < 100 else 2 * value)
        case ast.Constant(value=float() as value):
            yield node, ast.Constant(value * 1.25 or 1.0)
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            yield node, altered(node, args=[ast.BinOp(stop, ast.Sub(), ast.Constant(1))])
        case ast.Call(args=[one, two, *more]) if ast.unparse(node.func) not in SYMMETRIC and not starred(one, two):
            yield node, altered(node, args=[two, one, *more])
        case ast.Call(keywords=[_, *_]):
            for dropped in node.keywords:
                if dropped.arg is not None and dropped.arg not in IDLE:
                    yield node, altered(node, keywords=[keyword for keyword in node.keywords if keyword is not dropped])
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield node, None
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield node, None


def nodes(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of a module with their functions; without annotations, decorators, messages and help texts."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}"
    yield node, scope
    skipped = ("annotation", "returns", "decorator_list", "type_params", "exc", "cause", "msg", "ops", "op", "ctx")
    for name, value in ast.iter_fields(node):
        if name in skipped or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        for child in value if isinstance(value, list) else [value]:
            unread = isinstance(child, ast.JoinedStr) or (isinstance(child, ast.keyword) and child.arg in IDLE)
            if isinstance(child, ast.AST) and not unread and getattr(child, "name", "") != "__repr__":
                yield from nodes(child, scope)


def mutants_of(area: str, module: str, seed: int) -> Iterator[Mutant]:
    """All faults of a module."""
    source = (ROOT / PACKAGE / module).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    twins: dict[str, int] = {}
    for node, scope in nodes(ast.parse(source), module):
        for old, new in changes(node):
            first = starts[old.lineno - 1] + old.col_offset
            last = starts[old.end_lineno - 1] + old.end_col_offset
            before = source[first:last].decode()
            after = "pass" if new is None else ast.unparse(ast.fix_missing_locations(new))
            if isinstance(new, ast.expr):
                after = f"({after})" if not isinstance(new, ast.Constant) else after
            identity = f"{seed} {scope} {before} {after}"
            twins[identity] = number = twins.get(identity, 0) + 1
            key = hashlib.sha256(f"{identity} {number}".encode()).hexdigest()
            yield Mutant(area, module, old.lineno, first, last, before, after, key)


def mutated(mutant: Mutant) -> bytes:
    """The source of a module with a fault."""
    source = (ROOT / PACKAGE / mutant.module).read_bytes()
    return source[: mutant.first] + mutant.after.encode() + source[mutant.last :]


def is_valid(mutant: Mutant) -> bool:
    try:
        compile(mutated(mutant), mutant.module, "exec")
    except SyntaxError:
        return False
    return True


def chosen(seed: int, count: int, only: str) -> list[Mutant]:
    """The faults of a seed: the same number in every area, those with the smallest hashes."""
    areas = {area: [module for module in AREAS[area] if only in (area, "") or only in module] for area in AREAS}
    areas = {area: modules for area, modules in areas.items() if modules}
    picked: list[Mutant] = []
    for area, modules in areas.items():
        all_of_area = [mutant for module in modules for mutant in mutants_of(area, module, seed)]
        valid = filter(is_valid, sorted(all_of_area, key=lambda mutant: mutant.key))
        picked += itertools.islice(valid, -(-count // len(areas)))
    return picked


def new_slot(number: int) -> Path:
    """A copy of package and tests; all copies share compiled kernels."""
    slot = SLOTS / str(number)
    for folder in ("src", "tests"):
        shutil.rmtree(slot / folder, ignore_errors=True)
        shutil.copytree(ROOT / folder, slot / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", slot)
    return slot


def passes(slot: Path, area: str, module: str, seconds: float = SECONDS) -> bool:
    """Whether the tests of a module pass in a copy within a time limit."""
    compiled, tests = not module.startswith(INTERPRETED), AREAS[area][module]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([f"{slot / 'src'}", f"{slot / 'tests'}", os.environ.get("PYTHONPATH", "")]),
        "MONMDP_CACHE": str(SLOTS / "cache"),
    }
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"} | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"})
    words = [sys.executable, *PYTEST]
    words += [] if compiled else ["-p", "mutants", "-W", "ignore::RuntimeWarning"]  # integers that overflow
    with (slot / "log.txt").open("wb") as log:
        process = subprocess.Popen([*words, *tests], cwd=slot, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def cache_name(slot: Path) -> str:
    """The name of the folder of compiled kernels of a copy."""
    from monmdp.kernels.compile import cache_folder

    return cache_folder(slot / PACKAGE).name


def survives(slot: Path, mutant: Mutant) -> bool:
    """Whether no test notices a fault."""
    path, folder = slot / PACKAGE / mutant.module, SLOTS / "cache" / "monmdp"
    original, known = path.read_bytes(), cache_name(slot)
    link = None
    try:
        path.write_bytes(mutated(mutant))
        if not mutant.module.startswith(KERNELS) and cache_name(slot) != known:  # the same kernels
            link = folder / cache_name(slot)
            folder.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)  # of a call that was killed
            link.symlink_to(known)
        return passes(slot, mutant.area, mutant.module)
    finally:
        path.write_bytes(original)
        if link is not None:
            link.unlink()


class Record(np.record):
    """A record whose fields are attributes, as in compiled kernels."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in fields else np.record.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def pytest_configure(config: Any) -> None:
    """As a plug-in of pytest (`-p mutants`): let kernels run without compilation."""
    from monmdp.agents import arrays

    def dtype(*arguments: Any, **options: Any) -> Any:
        return np.dtype((Record, np.dtype(*arguments, **options)))

    arrays.np = SimpleNamespace(**{**vars(np), "dtype": dtype})  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="which faults are chosen")
    parser.add_argument("--count", type=int, default=160, help="number of faults, spread evenly over the areas")
    parser.add_argument("--only", default="", help=f"an area ({', '.join(AREAS)}) or a part of a file name")
    parser.add_argument("--like", default="", help="of the chosen faults, those whose line in --list has this pattern")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of faults that run at a time")
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    parser.add_argument("--out", type=Path, help="Markdown file for the report")
    options = parser.parse_args()
    mutants = chosen(options.seed, options.count, options.only)
    mutants = [mutant for mutant in mutants if re.search(options.like, str(mutant))]
    if options.list:
        print(*mutants, sep="\n")
        return
    slots: queue.Queue[Path] = queue.Queue()
    for number in range(options.workers):
        slots.put(new_slot(number))

    def in_a_slot(function: Any, *arguments: Any) -> Any:
        slot = slots.get()
        try:
            return function(slot, *arguments)
        finally:
            slots.put(slot)

    survivors: list[Mutant] = []
    broken: set[str] = set()
    with ThreadPoolExecutor(options.workers) as pool, Progress() as bar:
        task = bar.add_task("checking that tests pass", total=len(mutants))
        used = sorted({(mutant.area, mutant.module) for mutant in mutants})
        checks = {pool.submit(in_a_slot, passes, *module, 3 * SECONDS): module for module in used}
        for check in as_completed(checks):
            if not check.result():
                broken.add(checks[check][1])
                bar.print(f"{checks[check][1]}: the tests fail without any fault, so its faults are left out")
        mutants = [mutant for mutant in mutants if mutant.module not in broken]
        bar.update(task, total=len(mutants))
        runs = {pool.submit(in_a_slot, survives, mutant): mutant for mutant in mutants}
        for run in as_completed(runs):
            if run.result():
                survivors.append(runs[run])
                bar.print(f"{runs[run]}")
            bar.update(task, advance=1, description=f"{len(survivors)} survivors")
    report = report_of(mutants, survivors)
    print(report)
    if options.out is not None:
        options.out.write_text(report)
    if broken:
        sys.exit(f"Faults of {', '.join(sorted(broken))} were left out: their tests fail without any fault.")


def report_of(mutants: list[Mutant], survivors: list[Mutant]) -> str:
    """Numbers by area, and a table of survivors."""
    rows = []
    for area in dict.fromkeys(mutant.area for mutant in mutants):
        total, lost = (sum(mutant.area == area for mutant in some) for some in (mutants, survivors))
        rows.append((area, total, total - lost, f"{1 - lost / total:.0%}"))
    total = len(mutants)
    rows.append(("all", total, total - len(survivors), f"{1 - len(survivors) / max(total, 1):.1%}"))
    places = [(f"{mutant.module}:{mutant.line}", mutant.change) for mutant in sorted(survivors, key=lambda m: m.module)]
    tables = markdown(("area", "faults", "caught", ""), rows), markdown(("survivor", "change"), places)
    return "\n\n".join(tables) + "\n"


if __name__ == "__main__":
    main()
