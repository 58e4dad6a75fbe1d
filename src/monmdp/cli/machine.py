"""Commands about this machine: doctor checks the installation, bench measures its speed."""

import importlib
import io
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text

from monmdp.cli.shared import (
    Command,
    Device,
    Flag,
    Json,
    check_file,
    option,
    print_json,
    print_line,
    progress,
    write_file,
)
from monmdp.errors import MonMDPError, plural
from monmdp.tables import markdown, terminal

STYLES = {"works": "green", "missing": "dim", "broken": "bold red"}
REINSTALL = "reinstall monmdp in a new virtual environment with pip install monmdp"
SPEED_COLUMNS = ("problem", "agent", "pairs", "ns per step", "µs per evaluation")


@dataclass(frozen=True)
class Doctor(Command):
    """Check the installation and print how to repair it.

    Example: monmdp doctor
    """

    json: Json = False

    def run(self, console: Console) -> None:
        with console.status("Checking (the first run compiles kernels) …"):
            facts = {"versions": versions(), "machine": machine()}
            findings = {"core": [run_check(name, check, REINSTALL) for name, check in CORE_CHECKS.items()]}
            core_works = all(finding.state == "works" for finding in findings["core"])
            for name, other in {"cache": check_cache, "extras": check_extras, "plugins": check_plugins}.items():
                findings[name] = other() if core_works else []
        broken = [finding for section in findings.values() for finding in section if finding.state == "broken"]
        advice = list(dict.fromkeys(finding.advice for finding in broken))
        if self.json:
            sections = {name: [asdict(finding) for finding in section] for name, section in findings.items()}
            print_json({**facts, **sections, "advice": advice, "core_works": core_works})
        else:
            tables: dict[str, Any] = {title: values.items() for title, values in facts.items()}
            for title, section in findings.items():
                tables[title] = [(Text(f.state, STYLES[f.state]), f.name, f.message) for f in section]
            for title, rows in tables.items():
                if rows:
                    console.print(terminal((), rows, title), "")
            print_line(console, f"To do: {'; '.join(advice)}." if advice else "Everything works.", "bold")
        if not core_works:
            raise MonMDPError(f"The core does not work: {advice[0]}.")


@dataclass(frozen=True)
class Finding:
    """The result of one check; advice: what to do if it failed."""

    name: str
    state: Literal["works", "missing", "broken"]
    message: str
    advice: str = ""


def run_check(name: str, check: Callable[[], str], advice: str) -> Finding:
    """Run a check, which returns a message and may print and fail in any way."""
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            return Finding(name, "works", check())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # other packages may raise anything
        lines = [type(error).__name__, *str(error).strip().splitlines()[:1]]
        return Finding(name, "broken", ": ".join(lines), f"{name}: {advice}")


def installed_version(package: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def requirements() -> dict[str, list[str]]:
    """Extra → packages, from the metadata of monmdp; those of the core have the key ""."""
    packages: dict[str, list[str]] = {}
    for line in (metadata.requires("monmdp") or []) if installed_version("monmdp") else []:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"\bextra\s*==\s*['\"](\w+)['\"]", line)
        packages.setdefault(extra[1] if extra else "", []).append(name[0] if name else line)
    return packages


def versions() -> dict[str, str]:
    """Versions of monmdp, Python and the packages that the core needs."""
    from monmdp import __version__

    python = f"{platform.python_version()} ({platform.python_implementation()})"
    packages = {name: installed_version(name) or "missing" for name in requirements().get("", [])}
    return {"monmdp": __version__, "Python": python, **packages}


def machine() -> dict[str, str]:
    """System, cores, memory and GPU of this machine."""
    from monmdp.machine import available_bytes, n_cores, readable

    try:
        from monmdp.cuda.driver import Device

        gpu = Device().name
    except Exception as error:  # packages and drivers may raise anything
        gpu = f"none: {error}"
    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{n_cores()} of {os.cpu_count()} available; training uses {plural(n_cores(), 'thread')} by default",
        "memory": f"{readable(available_bytes())} available",
        "GPU": gpu,
    }


def _solve() -> str:
    import monmdp

    value = monmdp.solve(monmdp.make("Loop", "Ask")).optimal_return
    if abs(value - 0.99**4) > 1e-12:
        raise RuntimeError(f"the optimal return of Loop + Ask is {value!r} and should be {0.99**4!r}")
    return f"kernels compile; the optimal return of Loop + Ask is {value:.6f}"


def _step() -> str:
    import gymnasium

    env = gymnasium.make("monmdp/Loop-v0", monitor="Ask")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    return "monmdp/Loop-v0 runs"


def _import(packages: Iterable[str]) -> str:
    for package in packages:
        files = [file.parts for file in metadata.files(package) or ()]
        folders = [parts[0] for parts in files if parts[1:] == ("__init__.py",)]
        for module in [package.replace("-", "_"), *folders]:  # a few packages have a module of another name
            if find_spec(module) is not None:
                importlib.import_module(module)
                break
    return ", ".join(f"{package} {installed_version(package)}" for package in packages)


CORE_CHECKS: dict[str, Callable[[], str]] = {
    "exact solutions": _solve,
    "Gymnasium": _step,
    "results": partial(_import, ["pyarrow"]),
    "figures": partial(_import, ["matplotlib"]),
}


#: Free space that the cache of compiled kernels needs at least: some kernels have about this size.
CACHE_BYTES = 1 << 20


def check_cache() -> list[Finding]:
    """The folder of compiled kernels."""
    from monmdp.kernels.compile import cache_folder, can_be_written
    from monmdp.machine import readable

    current = cache_folder()
    folder = current.parent
    if not can_be_written(current, CACHE_BYTES):
        message = f"{folder} cannot be written or its disk is full, so every process compiles its kernels"
        return [Finding("cache", "broken", message, f"set MONMDP_CACHE to a folder that can be written, not {folder}")]
    size = readable(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))
    kernels = f"{plural(len(list(current.rglob('*.nbc'))), 'compiled kernel')}"
    return [Finding("cache", "works", f"{folder}: {kernels}, {size} in all; clear with rm -r {folder}")]


def check_extras() -> list[Finding]:
    """Every extra of the installed package: its packages are imported."""
    findings = []
    for extra, packages in requirements().items():
        missing = [package for package in packages if installed_version(package) is None]
        install = f"pip install 'monmdp[{extra}]'"
        if extra and missing:
            findings.append(Finding(extra, "missing", f"not installed: {', '.join(missing)}; {install}"))
        elif extra:
            findings.append(run_check(extra, partial(_import, packages), f"reinstall with {install}"))
    return findings


def check_plugins() -> list[Finding]:
    """Environments, monitors and agents of other packages."""
    from monmdp import AGENTS, ENVIRONMENTS, MONITORS

    registries: list[Any] = [ENVIRONMENTS, MONITORS, AGENTS]
    findings = []
    for registry in registries:
        for plugin, message in registry.broken().items():
            findings.append(Finding(plugin.name, "broken", message, f"update or remove the package {plugin.package}"))
        for name in registry:
            if origin := registry.origin(name):
                findings.append(Finding(name, "works", f"{registry.kind} of {origin}"))
    return findings


@dataclass(frozen=True)
class Bench(Command):
    """Measure the time per step and evaluation, and project the paper's.

    Examples: monmdp bench --quick
              monmdp bench --device cuda
    """

    quick: Flag = False  # Skip the projection, which takes most of the time; on a GPU, use 5 seeds instead of 100.
    device: Device = "cpu"
    json: Json = False
    save: Annotated[Path | None, option("none", metavar="FILE")] = None  # Markdown file for the results (.md).

    def run(self, console: Console) -> None:
        from monmdp.paper import benchmark
        from monmdp.study.executors import uses_gpu

        check_file(self.save, ".md")
        on_gpu = uses_gpu(self.device)
        measure = benchmark.measure_gpu if on_gpu else benchmark.measure_cpu
        with progress("measuring (kernels are compiled first)") as update:
            values, sentences = measure(self.quick, update)
        machine_name = values["device"] if on_gpu else values["machine"]
        rows = [
            (row["problem"], row["agent"], f"{row['pairs']:,}", f"{row['step_ns']:,.0f}", f"{row['evaluation_us']:.1f}")
            for row in values.get("rows", [])
        ]
        if self.json:
            print_json(values)
        else:
            if rows:
                console.print(terminal(SPEED_COLUMNS, rows, machine_name, "llrrr"))
            for sentence in sentences:
                print_line(console, sentence)
        if self.save is not None:
            command = "monmdp bench --device cuda" if on_gpu else "monmdp bench"
            table = markdown(SPEED_COLUMNS, rows, "llrrr") + "\n\n" if rows else ""
            items = "".join(f"- {sentence}\n" for sentence in sentences)
            text = f"`{command}` on {machine_name}:\n\n{table}{items}"
            write_file(self.save, text.encode())
