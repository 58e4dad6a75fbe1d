"""What a check finds, and how checks are run."""

from __future__ import annotations

import importlib.metadata
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Literal

State = Literal["works", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what to do if it is not well."""

    name: str
    state: State
    told: str
    advice: str = ""


class NotHereError(Exception):
    """Something is well installed and of no use on this machine."""


def checked(name: str, check: Callable[[], str], advice: str) -> Finding:
    """A check that may fail in any way, and print what it likes."""
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            return Finding(name, "works", check())
    except NotHereError as reason:
        return Finding(name, "missing", str(reason))
    except (Exception, SystemExit) as error:  # whatever a foreign package does
        told = str(error).strip().splitlines()
        return Finding(name, "broken", ": ".join([type(error).__name__, *told[:1]]), advice)


def version_of(package: str) -> str | None:
    """The installed version of a package, None if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
