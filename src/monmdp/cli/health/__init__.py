"""Whether everything works on this machine: small real checks, each with a sentence that says what to do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from monmdp.cli.health.core import cache, core
from monmdp.cli.health.extras import extras
from monmdp.cli.health.findings import Finding
from monmdp.cli.health.machine import machine, versions

__all__ = ["Finding", "Health", "examine"]


@dataclass(frozen=True)
class Health:
    """All that was found."""

    versions: dict[str, str]
    machine: dict[str, str]
    core: list[Finding]
    cache: list[Finding] = field(default_factory=list)
    extras: list[Finding] = field(default_factory=list)
    plugins: list[Finding] = field(default_factory=list)

    @property
    def core_works(self) -> bool:
        """Whether all that must work does."""
        return all(finding.state == "works" for finding in self.core)

    @property
    def advice(self) -> list[str]:
        """What to do, the most important first; empty where everything that is installed works."""
        findings = [*self.core, *self.cache, *self.extras, *self.plugins]
        return list(dict.fromkeys(finding.advice for finding in findings if finding.state == "broken"))


def examine() -> Health:
    """Look at everything; takes a few seconds. Where the core is broken, nothing else is tried."""
    first = Health(versions(), machine(), core())
    return replace(first, cache=[cache()], extras=extras(), plugins=plugins()) if first.core_works else first


def plugins() -> list[Finding]:
    """Every plug-in that works, and every one that does not."""
    from monmdp import AGENTS, ENVIRONMENTS, MONITORS

    registries: list[Any] = [ENVIRONMENTS, MONITORS, AGENTS]
    found = []
    for registry in registries:
        broken = registry.broken()
        origins = {name: registry.origin(name) for name in registry}
        found += [Finding(name, "works", f"{registry.kind} of {told}") for name, told in origins.items() if told]
        for plugin, sentence in broken.items():
            found.append(Finding(plugin.name, "broken", sentence, f"update or remove the package {plugin.package}"))
    return found
