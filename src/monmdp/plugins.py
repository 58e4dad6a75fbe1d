"""Environments, monitors and agents of other packages, found through entry points and imported on first use.

A package names its classes in its pyproject.toml, one line each:

    [project.entry-points."monmdp.environments"]
    Pond = "my_package:Pond"

Names are read from the packages' metadata, so nothing is imported before somebody asks for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any


class BrokenPluginWarning(UserWarning):
    """A plug-in cannot be used, and why; everything else works."""


class BrokenPluginError(Exception):
    """Why a plug-in cannot be used: the end of a sentence."""


@dataclass(frozen=True)
class Plugin:
    """One class of another package, by its entry point."""

    kind: str
    name: str
    package: str
    version: str
    entry_point: EntryPoint

    def load(self, base: type[Any]) -> type[Any]:
        """Import the class and check that it is what its entry point promises."""
        try:
            found = self.entry_point.load()
        except (Exception, SystemExit) as error:  # whatever a foreign module does when it is imported
            told = str(error).strip().splitlines()
            raise BrokenPluginError(": ".join([type(error).__name__, *told[:1]]).rstrip(".")) from None
        target = self.entry_point.value
        if not isinstance(found, type) or not issubclass(found, base):
            raise BrokenPluginError(f"{target} is not a subclass of monmdp.{base.__name__}")
        if not dataclasses.is_dataclass(found):
            raise BrokenPluginError(f"{target} is not a dataclass")
        if found.__name__ != self.name:
            raise BrokenPluginError(f"the entry point must have the name of its class, {found.__name__}")
        return found

    def complaint(self, reason: str) -> str:
        """The sentence about a plug-in that cannot be used."""
        return f"The {self.kind} {self.name!r} of the package {self.package} {self.version} cannot be used: {reason}."


def find_plugins(kind: str) -> list[Plugin]:
    """What installed packages offer of a kind, by package and name; a package that is found twice counts once."""
    found: dict[tuple[str, str], Plugin] = {}
    for package in distributions():
        for entry in _entries(package, f"monmdp.{kind}s"):
            name, version = _named(package)
            found.setdefault((name, entry.name), Plugin(kind, entry.name, name, version, entry))
    return [found[key] for key in sorted(found)]


def _entries(package: Distribution, group: str) -> Iterable[EntryPoint]:
    """The entry points of a package in a group; none where its list of them is garbled, whosever package it is."""
    try:
        return package.entry_points.select(group=group)
    except (OSError, TypeError, ValueError):
        return ()


def _named(package: Distribution) -> tuple[str, str]:
    """Name and version of a package, whose metadata may be lost."""
    try:
        return package.name or "without a name", package.version or "(no version)"
    except (OSError, KeyError):
        return "without a name", "(no version)"
