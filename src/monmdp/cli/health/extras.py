"""What may be installed on top: whether it is there, and whether it works."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from monmdp.cli.health.findings import Finding, NotHereError, checked, version_of


def extras() -> list[Finding]:
    """Every extra of the installed package: whether it is there, and whether it works."""
    found = []
    for extra, packages in _extras().items():
        missing = [package for package in packages if version_of(package) is None]
        install = f"pip install 'monmdp[{extra}]'"
        if missing:
            told = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; {install}"
            found.append(Finding(extra, "missing", told))
        else:
            check = CHECKS.get(extra, lambda packages=packages: _imports(packages))
            found.append(checked(extra, check, f"{extra} is installed and cannot be used; {install}"))
    return found


def _extras() -> dict[str, list[str]]:
    """Extra → packages, from our own metadata; none where we are not installed as a package."""
    try:
        required = importlib.metadata.requires("monmdp") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in required:
        match = re.match(r"([\w.-]+).*\bextra\s*==\s*['\"](\w+)['\"]", line)
        if match:
            found.setdefault(match[2], []).append(match[1])
    return found


def _imports(packages: list[str]) -> str:
    provided = importlib.metadata.packages_distributions()
    for package in packages:
        for module, owners in provided.items():
            if package in owners and module.isidentifier() and not module.startswith("_"):
                importlib.import_module(module)
    return "can be imported: " + ", ".join(f"{package} {version_of(package)}" for package in packages)


def _shows() -> str:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    surface = pygame.Surface((2, 2))
    surface.fill((1, 2, 3))
    assert tuple(surface.get_at((1, 1))) == (1, 2, 3, 255)
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) or sys.platform == "darwin"
    return f"pygame {pygame.version.ver} draws" + ("" if screen else "; there is no screen here to show it on")


def _distributes() -> str:
    import ray

    from monmdp.study.ray_cluster import train_remotely

    packer: Any = ray.cloudpickle
    assert packer.loads(packer.dumps(train_remotely)) is train_remotely
    return f"Ray {ray.__version__} packs our work; no cluster was started"


def _copies() -> str:
    import numpy as np

    from monmdp.cuda.driver import Device, MissingGPUError
    from monmdp.machine import readable

    try:
        device = Device()
    except MissingGPUError as reason:
        raise NotHereError(str(reason)) from None
    sent, back = np.arange(5), np.zeros(5, np.int64)
    address = device.take(sent.nbytes)
    device.send(address, sent)
    device.fetch(address, back)
    device.give_back(address)
    assert back.tolist() == sent.tolist()
    return f"{device.name} answers, {readable(device.free())} of its memory is free"


def _logs() -> str:
    import numpy as np
    import wandb
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from monmdp.study.export import tensorboard as events
    from monmdp.study.export import wandb as offline
    from monmdp.study.export.runs import RunCurve

    run = RunCurve("problem", "agent", "seed 0", np.array([3]), {"return": np.array([0.5])}, {"seed": 0}, {"end": 0.5})
    with tempfile.TemporaryDirectory() as folder:
        events.write_run(run, Path(folder) / "events")
        read: Any = EventAccumulator(str(Path(folder) / "events"))
        read.Reload()
        assert [(event.step, event.value) for event in read.Scalars("return")] == [(3, 0.5)]
        offline.write_run(wandb, run, Path(folder), "doctor", "offline")
        assert list(Path(folder).rglob("*.wandb"))
    return f"TensorBoard {version_of('tensorboard')} and W&B {wandb.__version__} (offline) wrote a run"


def _tests() -> str:
    command = [sys.executable, "-m", "ruff", "format", "-"]
    done = subprocess.run(command, input="x=1", capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "x = 1\n"
    import pytest

    return f"pytest {pytest.__version__} and ruff {version_of('ruff')} run"


#: Extra → its real check; others are imported.
CHECKS: dict[str, Callable[[], str]] = {
    "cuda": _copies, "human": _shows, "loggers": _logs, "ray": _distributes, "test": _tests,
}  # fmt: skip
