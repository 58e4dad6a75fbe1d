"""Names of environments and monitors, and the call-like text `Ask(cost=0.5)` that builds them."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from monmdp.errors import MonMDPError, nearest

T = TypeVar("T")
_SPEC = re.compile(r"\s*(?P<name>[\w/.:-]+)\s*(\((?P<options>.*)\))?\s*", re.DOTALL)


class Registry(Generic[T]):
    """Classes of one kind by name; names are found in any case."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, type[T]] = {}

    def add(self, entry: type[T]) -> type[T]:
        """Register a class under its own name; usable as a decorator."""
        taken = self._entries.get(entry.__name__)
        if taken is not None and taken is not entry:
            raise MonMDPError(f"The name {entry.__name__!r} is already taken by another {self.kind}.")
        self._entries[entry.__name__] = entry
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: str) -> bool:
        return name.casefold() in {known.casefold() for known in self._entries}

    def find(self, name: str) -> type[T]:
        """The class called `name`, in any case."""
        for known, entry in self._entries.items():
            if known.casefold() == name.casefold():
                return entry
        raise MonMDPError(f"There is no {self.kind} called {name!r}. {nearest(name, self._entries)}")

    def build(self, spec: str, **options: Any) -> T:
        """An instance from text such as `Ask` or `Ask(cost=0.5)`; keyword options come on top."""
        name, written = parse_spec(spec)
        return construct(self.find(name), {**written, **options})


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
