"""Environments, monitors and agents of other packages, discovered through entry points.

A package lists its classes in its pyproject.toml:

    [project.entry-points."monmdp.environments"]
    Pond = "my_package:Pond"

Names come from package metadata; a class is imported when it is first used.
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any

from monmdp.errors import MonMDPError


class BrokenPluginWarning(UserWarning):
    """A plug-in cannot be used; the message gives the reason. Everything else works."""


@dataclasses.dataclass(frozen=True)
class Plugin:
    """One class of another package, identified by its entry point."""

    kind: str
    name: str
    package: str
    version: str
    entry_point: EntryPoint

    def load(self, base: type[Any]) -> type[Any]:
        """Import the class and check that it is a dataclass derived from `base` with the name of its entry point."""
        target = self.entry_point.value
        try:
            loaded = self.entry_point.load()
        except (Exception, SystemExit) as error:  # importing third-party code can raise anything
            reason = [type(error).__name__, *str(error).strip().splitlines()[:1]]
            raise self.error(": ".join(reason).rstrip(".")) from None
        if not isinstance(loaded, type) or not issubclass(loaded, base):
            raise self.error(f"{target} is not a subclass of monmdp.{base.__name__}")
        if not dataclasses.is_dataclass(loaded):
            raise self.error(f"{target} is not a dataclass")
        if loaded.__name__ != self.name:
            raise self.error(f"the entry point must have the name of its class, {loaded.__name__}")
        return loaded

    def error(self, reason: str) -> MonMDPError:
        """The error that explains why this plug-in cannot be used."""
        name = f"The {self.kind} {self.name!r} of the package {self.package} {self.version}"
        return MonMDPError(f"{name} cannot be used: {reason}.")


def find_plugins(kind: str) -> list[Plugin]:
    """The plug-ins of a kind in all installed packages, sorted by package and name, without duplicates."""
    plugins: dict[tuple[str, str], Plugin] = {}
    for package in distributions():
        try:
            entries = package.entry_points.select(group=f"monmdp.{kind}s")
        except (OSError, TypeError, ValueError):  # a package whose list of entry points is corrupt
            continue
        for entry in entries:
            name, version = _name_and_version(package)
            plugins.setdefault((name, entry.name), Plugin(kind, entry.name, name, version, entry))
    return [plugins[key] for key in sorted(plugins)]


def _name_and_version(package: Distribution) -> tuple[str, str]:
    """Name and version of a package, with placeholders if its metadata is missing."""
    try:
        return package.name or "without a name", package.version or "(no version)"
    except (OSError, KeyError):
        return "without a name", "(no version)"
