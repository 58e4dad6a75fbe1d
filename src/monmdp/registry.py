"""Registries of environments, monitors and agents by name, with plug-ins, and specs such as `Ask(cost=0.5)`.

Another package adds its own classes through entry points, listed in its pyproject.toml:

    [project.entry-points."monmdp.environments"]
    Pond = "my_package:Pond"

Names come from package metadata; a class is imported when it is first used.
"""

import ast
import dataclasses
import inspect
import math
import re
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import EntryPoint, distributions
from itertools import product
from typing import Any, Generic, TypeVar, cast

from monmdp import check
from monmdp.errors import MonMDPError, MonMDPWarning, nearest, shown

T = TypeVar("T")
#: The largest number of combinations of a grid.
MOST_VARIANTS = 10_000
_SPEC = re.compile(r"\s*(?P<name>[\w/.:-]+)\s*(\((?P<options>.*)\))?\s*", re.DOTALL)
_LABEL = re.compile(r"(?P<spec>[^ (]+(\(.*\))?)(?P<suffix> \[.*\])?", re.DOTALL)


class BrokenPluginWarning(MonMDPWarning):
    """A plug-in cannot be used; the message gives the reason. Everything else works."""


@dataclasses.dataclass(frozen=True)
class Plugin:
    """One class of another package, identified by its entry point."""

    kind: str
    name: str
    package: str
    version: str
    entry_point: EntryPoint

    def load(self, base: type[T]) -> type[T]:
        """Import the class and check that it is derived from `base` and has the name of its entry point."""
        try:
            loaded = self.entry_point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # importing third-party code can raise anything
            reason = [type(error).__name__, *str(error).strip().splitlines()[:1]]
            raise self.error(": ".join(reason).rstrip(".")) from None
        if not isinstance(loaded, type) or not issubclass(loaded, base):
            raise self.error(f"{self.entry_point.value} is not a subclass of monmdp.{base.__name__}")
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
            try:
                name, version = package.name or "without a name", package.version or "(no version)"
            except (OSError, KeyError):  # a package without metadata
                name, version = "without a name", "(no version)"
            plugins.setdefault((name, entry.name), Plugin(kind, entry.name, name, version, entry))
    return [plugins[key] for key in sorted(plugins)]


class Registry(Generic[T]):
    """Classes of one kind by name, including those of plug-ins; names are not case-sensitive.

    A plug-in is imported when it is looked up or when the registry is iterated. Plug-ins that cannot be used are
    left out, with one warning each. extra: names and modules of classes that need an optional package; they are
    imported when they are looked up, and are not iterated.
    """

    def __init__(self, kind: str, base: type[T], extra: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self._extra = {name.casefold(): (name, module) for name, module in (extra or {}).items()}
        self._base = base
        self._classes: dict[str, type[T]] = {}  # keys are case-folded names, here and below
        self._origins: dict[str, str] = {}
        self._broken: dict[Plugin, str] = {}
        self._warned: set[str] = set()

    def add(self, entry: type[T]) -> type[T]:
        """Register a class under its own name; usable as a decorator."""
        earlier = self._classes.get(entry.__name__.casefold(), entry)
        if (earlier.__module__, earlier.__qualname__) != (entry.__module__, entry.__qualname__):
            raise MonMDPError(f"The name {entry.__name__!r} is already taken by another {self.kind}.")
        self._classes[entry.__name__.casefold()] = entry  # also a class that a notebook defines again
        return entry

    def __iter__(self) -> Iterator[str]:
        self._warn(self._load_all().values())
        return iter([entry.__name__ for entry in self._classes.values()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: str) -> bool:
        return any(name.casefold() in known for known in (self._classes, self._pending, self._extra))

    def names(self) -> list[str]:
        """All names, including those of plug-ins, without importing any."""
        names = [entry.__name__ for entry in self._classes.values()] + [p.name for p in self._pending.values()]
        return names + self.extra

    @property
    def extra(self) -> list[str]:
        """The names of classes that need an optional package."""
        return [name for name, _ in self._extra.values()]

    def broken(self) -> dict[Plugin, str]:
        """The plug-ins that cannot be used, with the reasons; imports all plug-ins and replaces the warnings."""
        self._warned.update(self._load_all().values())
        return dict(self._broken)

    def origin(self, name: str) -> str:
        """The package and version that provide the class `name`; empty for classes of monmdp."""
        return self._origins.get(name.casefold(), "")

    def find(self, name: str) -> type[T]:
        """The class called `name`."""
        key = name.casefold()
        if key in self._extra:
            extra, module = self._extra[key]
            return cast(type[T], getattr(import_module(module), extra))
        self._load(key)
        errors = [message for plugin, message in self._broken.items() if plugin.name.casefold() == key]
        if key in self._classes:
            self._warn(errors)
            return self._classes[key]
        unknown = f"There is no {self.kind} called {shown(name)}. {nearest(name, self.names())}"
        raise MonMDPError(errors[0] if errors else unknown)

    def build(self, given: Any, **options: Any) -> T:
        """An instance from a spec such as `Ask` or `Ask(cost=0.5)`, from a class, or the given instance itself.

        Keyword options override those of a spec.
        """
        if isinstance(given, self._base) and not options:
            return given
        if isinstance(given, type) and issubclass(given, self._base) and given is not self._base:
            return cast(T, construct(given, options))
        if not isinstance(given, str):
            raise MonMDPError(
                f"The {self.kind} must be a name or an object of {self._base.__name__}, not {shown(given)}."
            )
        name, written = parse_spec(given)
        built: T = construct(self.find(name), {**written, **options})
        return built

    @cached_property
    def _pending(self) -> dict[str, Plugin]:
        """Plug-ins that have not been imported yet."""
        pending: dict[str, Plugin] = {}
        for plugin in find_plugins(self.kind):
            key = plugin.name.casefold()
            if key in self._classes or key in pending:
                owner = pending[key].package if key in pending else "monmdp itself"
                self._broken[plugin] = str(plugin.error(f"{owner} has another {self.kind} of that name"))
            else:
                pending[key] = plugin
        return pending

    def _load(self, key: str) -> None:
        if plugin := self._pending.pop(key, None):
            try:
                self.add(plugin.load(self._base))
                self._origins[key] = f"{plugin.package} {plugin.version}"
            except MonMDPError as error:
                self._broken[plugin] = str(error)

    def _load_all(self) -> dict[Plugin, str]:
        for key in list(self._pending):
            self._load(key)
        return self._broken

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            if message not in self._warned:
                self._warned.add(message)
                warnings.warn(message, BrokenPluginWarning, stacklevel=3)


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split `Name(option=value, …)` into its name and options; values are Python literals, never code."""
    name, options = _parse(spec)
    for option, values in options.items():
        if len(values) != 1:
            raise MonMDPError(f"In {shown(spec)} the option {option!r} needs one value; only a sweep takes several.")
    return name, {option: values[0] for option, values in options.items()}


def _parse(spec: str) -> tuple[str, dict[str, list[Any]]]:
    """The name of a spec, and the values of each option: one, or several as in `Ask(cost={0.1, 0.5})`."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise MonMDPError(f"{shown(spec)} is not a name or a call such as 'Ask(cost=0.5)'.")
    try:
        call = ast.parse(f"_({match['options'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)  # not a call of what another call returns
        values = [word.value.elts if isinstance(word.value, ast.Set) else [word.value] for word in call.keywords]
        # a bare word is text, so that no inner quotes are needed in a shell
        literals = [[v.id if isinstance(v, ast.Name) else ast.literal_eval(v) for v in several] for several in values]
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        raise MonMDPError(f"The options in {shown(spec)} cannot be parsed; write them as in 'Ask(cost=0.5)'.") from None
    if call.args:
        raise MonMDPError(f"In {shown(spec)} every option needs its name, as in 'Ask(cost=0.5)'.")
    options = {str(word.arg): value for word, value in zip(call.keywords, literals, strict=True)}
    if len(options) < len(literals):
        raise MonMDPError(f"In {shown(spec)} an option is given twice.")
    return match["name"], options


def grid(entry: Any, /, **options: Any) -> list[Any]:
    """Every combination of lists of options: `grid("Directed", alpha=[0.1, 0.5], beta_bar=[0.01, 0.1])`, 4 specs.

    entry: an agent, environment or monitor. A name gives specs; it may contain options. A dataclass or an object of one
    gives objects; a class or function that makes learners in plain Python gives such objects or functools.partial.
    A spec with braces is a grid by itself: `"Directed(alpha={0.1, 0.5})"`. The first option changes slowest.
    """
    name, own = _parse(entry) if isinstance(entry, str) else ("", {})
    values = own | {option: _grid_values(option, given) for option, given in options.items()}
    if (size := math.prod(map(len, values.values()))) > MOST_VARIANTS:
        raise MonMDPError(f"A grid can have {MOST_VARIANTS:,} combinations, not {size:,}; choose fewer values.")
    chosen = [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]
    if isinstance(entry, str):
        return [written_spec(name, combination) for combination in chosen]
    if dataclasses.is_dataclass(entry):
        factory, fixed = (entry, {}) if isinstance(entry, type) else (type(entry), _options_of(entry))
        return [construct(factory, fixed | combination) for combination in chosen]
    if not callable(entry):
        raise MonMDPError(f"A grid is of an agent, environment or monitor, a name or a dataclass, not {shown(entry)}.")
    try:
        inspect.signature(entry).bind_partial(**chosen[0])
    except TypeError as error:
        raise MonMDPError(f"{getattr(entry, '__name__', entry)}: {error}.") from None
    make = entry if hasattr(entry, "start") else partial(partial, entry)
    return [make(**combination) for combination in chosen]


def _grid_values(option: str, given: Any) -> list[Any]:
    """The values of an option of a grid, as a list that is not empty."""
    values = given.tolist() if hasattr(given, "tolist") else list(given) if isinstance(given, range) else given
    if not isinstance(values, list) or not values:
        example = f"{option}=[{values!r}]" if isinstance(values, (int, float, str)) else f"{option}=[0.1, 0.5]"
        raise MonMDPError(f"A grid needs a list of values for {option!r}, as in {example}, not {shown(given)}.")
    return [value.tolist() if hasattr(value, "tolist") else value for value in values]


def _options_of(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance) if field.init}


def construct(factory: Any, options: dict[str, Any]) -> Any:
    """Call a dataclass with options; the error for an unknown option suggests the nearest one."""
    known = [field.name for field in dataclasses.fields(factory) if field.init]
    for option in options:
        if option not in known:
            raise MonMDPError(f"{factory.__name__} has no option {shown(option)}. {nearest(str(option), known)}")
    try:
        return factory(**options)
    except MonMDPError:
        raise
    except TypeError as error:
        raise MonMDPError(f"{factory.__name__}: {error}.") from None
    except Exception as error:  # code of a user can raise anything
        raise check.raised(factory.__name__, error) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declared:
    """An environment, a monitor or an agent: a dataclass whose options are checked by their annotations."""

    def __post_init__(self) -> None:
        check.options(self)

    @property
    def name(self) -> str:
        """The spec that builds an equal object."""
        return spec_of(self)


def is_built_in(kind: Any) -> bool:
    """Whether a class or function belongs to this package."""
    return str(kind.__module__).partition(".")[0] == "monmdp"


def spec_of(instance: Any) -> str:
    """The spec that builds an equal instance: its class name and every option that differs from its default."""
    options = {}
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        array = hasattr(value, "tolist")
        same = not array and type(value) is type(default) and value == default
        if field.init and field.repr and not same:
            options[field.name] = value
    return written_spec(type(instance).__name__, options)


def written_spec(name: str, options: Mapping[str, Any]) -> str:
    """A name with options, as in `Ask(cost=0.5)`, the same in every process."""
    words = [f"{key}={value.tolist() if hasattr(value, 'tolist') else value!r}" for key, value in options.items()]
    return re.sub(r" at 0x[0-9a-f]+", "", f"{name}({', '.join(words)})" if words else name)


def short_labels(entries: Sequence[Any]) -> list[str]:
    """One label per agent, environment or monitor, in order: its spec without what all others of its class share.

    entries: specs, classes, or objects with a `name`. Options that all listed entries of a class have in common are
    dropped; a class with one spec keeps all of its options. A suffix such as ` [steps 100]` stays.
    `Directed(alpha=0.5, beta_bar=0.1)` and `Directed(alpha=0.5, beta_bar=1.0)` → `Directed(beta_bar=0.1)` and
    `Directed(beta_bar=1.0)`; beside `Directed`, both keep `alpha`.
    """
    specs = [e if isinstance(e, str) else e.__name__ if isinstance(e, type) else str(e.name) for e in entries]
    differing = differing_options(specs)
    return [restricted(spec, differing[_label_parts(spec)[0].casefold()] or None) for spec in specs]


def restricted(spec: str, kept: Container[str] | None) -> str:
    """A spec with some of its options; all of them for None."""
    name, options, suffix = _label_parts(spec)
    words = [f"{option}={value}" for option, value in options.items() if kept is None or option in kept]
    return f"{name}({', '.join(words)}){suffix}" if words else f"{name}{suffix}"


def differing_options(specs: Iterable[str]) -> dict[str, set[str]]:
    """Class, case-folded → the options in which the given specs of that class differ."""
    variants: dict[str, list[dict[str, str]]] = {}
    for spec in specs:
        name, options, _ = _label_parts(spec)
        variants.setdefault(name.casefold(), []).append(options)
    return {
        name: {option for given in several for option in given if len({other.get(option) for other in several}) > 1}
        for name, several in variants.items()
    }


def _label_parts(spec: str) -> tuple[str, dict[str, str], str]:
    """`Ask(cost=0.5) [steps 100]` → `Ask`, {`cost`: `0.5`}, ` [steps 100]`; what is not a spec is a name."""
    match = _LABEL.fullmatch(spec)
    try:
        name, options = parse_spec(match["spec"] if match else spec)
    except MonMDPError:  # for example an option that is not a literal
        return spec, {}, ""
    return name, {option: repr(value) for option, value in options.items()}, (match and match["suffix"]) or ""
