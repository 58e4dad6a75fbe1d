"""Names of environments, monitors and agents, and the call-like text `Ask(cost=0.5)` that builds them."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from monmdp.errors import MonMDPError, nearest
from monmdp.plugins import BrokenPluginError, BrokenPluginWarning, Plugin, find_plugins

T = TypeVar("T")
_SPEC = re.compile(r"\s*(?P<name>[\w/.:-]+)\s*(\((?P<options>.*)\))?\s*", re.DOTALL)


class Registry(Generic[T]):
    """Classes of one kind by name, ours and those of plug-ins; names are found in any case.

    A plug-in is imported when it is asked for, or when all classes are. One that cannot be used is told in a warning,
    once, and left out.
    """

    def __init__(self, kind: str, base: type[T] | None = None) -> None:
        self.kind = kind
        self._base = base
        self._entries: dict[str, type[T]] = {}
        self._waiting: dict[str, Plugin] | None = None
        self._loaded: dict[str, Plugin] = {}
        self._broken: dict[Plugin, str] = {}
        self._told: set[str] = set()

    def add(self, entry: type[T]) -> type[T]:
        """Register a class under its own name; usable as a decorator."""
        taken = self._entries.get(entry.__name__)
        if taken is not None and taken is not entry:
            raise MonMDPError(f"The name {entry.__name__!r} is already taken by another {self.kind}.")
        self._entries[entry.__name__] = entry
        return entry

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        self._warn(self._broken.values())
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: str) -> bool:
        return any(_alike(name, known) for known in self.names())

    def names(self) -> list[str]:
        """All names, those of plug-ins included; nothing is imported."""
        return list({**self._entries, **self._plugins()})

    def broken(self) -> dict[Plugin, str]:
        """The plug-ins that cannot be used, each with a sentence; imports all of them. Who asks needs no warning."""
        self._load_all()
        self._told.update(self._broken.values())
        return dict(self._broken)

    def origin(self, name: str) -> str:
        """The package, with its version, that the class `name` comes from; empty for our own."""
        plugin = self._loaded.get(name)
        return f"{plugin.package} {plugin.version}" if plugin else ""

    def find(self, name: str) -> type[T]:
        """The class called `name`, in any case."""
        for waiting in list(self._plugins()):
            if _alike(waiting, name):
                self._load(waiting)
        complaints = [sentence for plugin, sentence in self._broken.items() if _alike(plugin.name, name)]
        for known, entry in self._entries.items():
            if _alike(known, name):
                self._warn(complaints)
                return entry
        if complaints:
            raise MonMDPError(complaints[0])
        raise MonMDPError(f"There is no {self.kind} called {name!r}. {nearest(name, self.names())}")

    def build(self, spec: str, **options: Any) -> T:
        """An instance from text such as `Ask` or `Ask(cost=0.5)`; keyword options come on top."""
        name, written = parse_spec(spec)
        return construct(self.find(name), {**written, **options})

    def _plugins(self) -> dict[str, Plugin]:
        """Plug-ins that nobody has asked for yet; found once, after our own classes."""
        if self._waiting is None:
            self._waiting = {}
            for plugin in find_plugins(self.kind) if self._base else ():
                taken = next((known for known in self.names() if _alike(known, plugin.name)), None)
                if taken is None:
                    self._waiting[plugin.name] = plugin
                else:
                    owner = f"{self._waiting[taken].package} has" if taken in self._waiting else "monmdp itself has"
                    self._broken[plugin] = plugin.complaint(f"{owner} another {self.kind} of that name")
        return self._waiting

    def _load(self, name: str) -> None:
        plugin = self._plugins().pop(name)
        assert self._base is not None
        try:
            self.add(plugin.load(self._base))
            self._loaded[name] = plugin
        except (BrokenPluginError, MonMDPError) as error:
            self._broken[plugin] = plugin.complaint(str(error).rstrip("."))

    def _load_all(self) -> None:
        for name in list(self._plugins()):
            self._load(name)

    def _warn(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if sentence not in self._told:
                self._told.add(sentence)
                warnings.warn(sentence, BrokenPluginWarning, stacklevel=3)


def _alike(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split `Name(option=value, …)` into its name and options; values are Python literals, never code."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise MonMDPError(f"{spec!r} is not a name or a call such as 'Ask(cost=0.5)'.")
    try:
        call = ast.parse(f"_({match['options'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args:
            raise MonMDPError(f"In {spec!r} every option needs its name, as in 'Ask(cost=0.5)'.")
        names = [str(word.arg) for word in call.keywords]
        if len(set(names)) < len(names):
            raise MonMDPError(f"In {spec!r} an option is given twice.")
        return match["name"], {str(word.arg): _literal(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, AssertionError) as error:
        if isinstance(error, MonMDPError):
            raise
        raise MonMDPError(f"The options in {spec!r} cannot be read; write them as in 'Ask(cost=0.5)'.") from None


def _literal(node: ast.expr) -> Any:
    """A Python literal; a bare word is taken as text, so that shells need no inner quotes."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def construct(factory: Callable[..., T], options: dict[str, Any]) -> T:
    """Call a dataclass with options, and name the option that it does not have."""
    known = option_names(factory)
    for option in options:
        if option not in known:
            name = getattr(factory, "__name__", str(factory))
            raise MonMDPError(f"{name} has no option {option!r}. {nearest(option, known)}")
    try:
        return factory(**options)
    except TypeError as error:
        raise MonMDPError(f"{getattr(factory, '__name__', factory)}: {error}.") from None


def option_names(factory: Any) -> list[str]:
    """The options a dataclass takes, in the order of their declaration."""
    return [field.name for field in dataclasses.fields(factory) if field.init]


def spec_of(instance: Any) -> str:
    """The text that builds an equal instance: its class name and every option that is not the default."""
    name = type(instance).__name__
    if not dataclasses.is_dataclass(instance):
        return name
    words = []
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.init and field.repr and not _same(value, default):
            words.append(f"{field.name}={value.tolist() if hasattr(value, 'tolist') else value!r}")
    return f"{name}({', '.join(words)})" if words else name


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not hasattr(value, "tolist") and bool(value == default)
