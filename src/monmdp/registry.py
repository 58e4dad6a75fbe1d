"""Registries of environments, monitors and agents by name, and specs such as `Ask(cost=0.5)` that build them."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from monmdp.errors import MonMDPError, nearest
from monmdp.plugins import BrokenPluginWarning, Plugin, find_plugins

T = TypeVar("T")
_SPEC = re.compile(r"\s*(?P<name>[\w/.:-]+)\s*(\((?P<options>.*)\))?\s*", re.DOTALL)


class Registry(Generic[T]):
    """Classes of one kind by name, including those of plug-ins; names are not case-sensitive.

    A plug-in is imported when it is looked up or when the registry is iterated. Plug-ins that cannot be used are
    left out, with one warning each.
    """

    def __init__(self, kind: str, base: type[T] | None = None) -> None:
        self.kind = kind
        self._base = base
        self._classes: dict[str, type[T]] = {}  # keys are case-folded names, here and below
        self._pending: dict[str, Plugin] | None = None
        self._loaded: dict[str, Plugin] = {}
        self._broken: dict[Plugin, str] = {}
        self._warned: set[str] = set()

    def add(self, entry: type[T]) -> type[T]:
        """Register a class under its own name; usable as a decorator."""
        if self._classes.setdefault(entry.__name__.casefold(), entry) is not entry:
            raise MonMDPError(f"The name {entry.__name__!r} is already taken by another {self.kind}.")
        return entry

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        self._warn(self._broken.values())
        return iter([entry.__name__ for entry in self._classes.values()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._classes or name.casefold() in self._plugins()

    def names(self) -> list[str]:
        """All names, including those of plug-ins, without importing any."""
        return [entry.__name__ for entry in self._classes.values()] + [p.name for p in self._plugins().values()]

    def broken(self) -> dict[Plugin, str]:
        """The plug-ins that cannot be used, with the reasons; imports all plug-ins and replaces the warnings."""
        self._load_all()
        self._warned.update(self._broken.values())
        return dict(self._broken)

    def origin(self, name: str) -> str:
        """The package and version that provide the class `name`; empty for classes of monmdp."""
        plugin = self._loaded.get(name.casefold())
        return f"{plugin.package} {plugin.version}" if plugin else ""

    def find(self, name: str) -> type[T]:
        """The class called `name`."""
        key = name.casefold()
        if key in self._plugins():
            self._load(key)
        errors = [message for plugin, message in self._broken.items() if plugin.name.casefold() == key]
        if key in self._classes:
            self._warn(errors)
            return self._classes[key]
        if errors:
            raise MonMDPError(errors[0])
        raise MonMDPError(f"There is no {self.kind} called {name!r}. {nearest(name, self.names())}")

    def build(self, spec: str, **options: Any) -> T:
        """An instance from a spec such as `Ask` or `Ask(cost=0.5)`; keyword options override those of the spec."""
        name, written = parse_spec(spec)
        return construct(self.find(name), {**written, **options})

    def _plugins(self) -> dict[str, Plugin]:
        """Plug-ins that have not been imported yet. The search for them runs once, on first use."""
        if self._pending is None:
            self._pending = {}
            for plugin in find_plugins(self.kind) if self._base else ():
                key = plugin.name.casefold()
                if key in self._classes or key in self._pending:
                    owner = self._pending[key].package if key in self._pending else "monmdp itself"
                    self._broken[plugin] = str(plugin.error(f"{owner} has another {self.kind} of that name"))
                else:
                    self._pending[key] = plugin
        return self._pending

    def _load(self, key: str) -> None:
        plugin = self._plugins().pop(key)
        assert self._base is not None
        try:
            self.add(plugin.load(self._base))
            self._loaded[key] = plugin
        except MonMDPError as error:
            self._broken[plugin] = str(error)

    def _load_all(self) -> None:
        for key in list(self._plugins()):
            self._load(key)

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            if message not in self._warned:
                self._warned.add(message)
                warnings.warn(message, BrokenPluginWarning, stacklevel=3)


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split `Name(option=value, …)` into its name and options; values are Python literals, never code."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise MonMDPError(f"{spec!r} is not a name or a call such as 'Ask(cost=0.5)'.")
    try:
        call = ast.parse(f"_({match['options'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        options = {str(word.arg): _literal(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise MonMDPError(f"The options in {spec!r} cannot be parsed; write them as in 'Ask(cost=0.5)'.") from None
    if call.args:
        raise MonMDPError(f"In {spec!r} every option needs its name, as in 'Ask(cost=0.5)'.")
    if len(options) < len(call.keywords):
        raise MonMDPError(f"In {spec!r} an option is given twice.")
    return match["name"], options


def _literal(node: ast.expr) -> Any:
    """A Python literal; a bare word is text, so that no inner quotes are needed in a shell."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def construct(factory: Callable[..., T], options: dict[str, Any]) -> T:
    """Call a dataclass with options; the error for an unknown option suggests the nearest one."""
    name, known = getattr(factory, "__name__", str(factory)), option_names(factory)
    for option in options:
        if option not in known:
            raise MonMDPError(f"{name} has no option {option!r}. {nearest(option, known)}")
    try:
        return factory(**options)
    except TypeError as error:
        raise MonMDPError(f"{name}: {error}.") from None


def option_names(factory: Any) -> list[str]:
    """The options of a dataclass, in the order of their declaration."""
    return [field.name for field in dataclasses.fields(factory) if field.init]


def spec_of(instance: Any) -> str:
    """The spec that builds an equal instance: its class name and every option that differs from its default."""
    name = type(instance).__name__
    if not dataclasses.is_dataclass(instance):
        return name
    words = []
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        array = hasattr(value, "tolist")
        same = not array and type(value) is type(default) and value == default
        if field.init and field.repr and not same:
            words.append(f"{field.name}={value.tolist() if array else value!r}")
    return f"{name}({', '.join(words)})" if words else name
