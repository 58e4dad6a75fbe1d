"""A hash of code that is not the library's: the part of a run's identity that its settings do not contain.

What runs is hashed, not text: instructions, constants, default values, closures, and the global functions, classes and
values that they use, module by module until a library is reached, which is identified by its name. Comments,
docstrings, line numbers and names of local variables do not count. Python's version does: it compiles differently.
"""

import builtins
import contextlib
import copyreg
import dataclasses
import dis
import functools
import hashlib
import random
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from monmdp.errors import MonMDPError, shown

#: Values that their text identifies.
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), numba.types.Type)
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
#: Methods of dataclasses that read every option.
_GENERATED = {
    "__init__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__setattr__",
    "__delattr__",
    "__lt__",
    "__le__",
    "__replace__",
}


class Code(NamedTuple):
    """The hash of some code, and the names of the attributes and globals that it reads."""

    digest: str
    reads: frozenset[str]


def code_of(owner: Any) -> Code:
    """The code of a user's class, function or object; an error if a part of it cannot be identified."""
    walk = _Walk(owner)
    walk.add(owner)
    return Code(walk.sha.hexdigest()[:12], frozenset(walk.reads))


class _Walk:
    """Hashes a value and everything that it refers to, depth first."""

    def __init__(self, owner: Any) -> None:
        self.sha, self.reads = hashlib.sha256(), set[str]()
        self._seen: dict[int, tuple[int, Any]] = {}  # with the object, so that no other gets its id
        self._open: list[int] = []
        self._dataclass = False
        self._where = [getattr(owner, "__name__", type(owner).__name__)]
        kinds = owner.__mro__ if isinstance(owner, type) else (owner, type(owner))
        # a plug-in is installed like a library, and yet its code counts
        self._own = {str(kind.__module__).partition(".")[0] for kind in kinds if hasattr(kind, "__module__")}
        self._own -= {"monmdp", "numba", *sys.stdlib_module_names}

    def add(self, value: Any) -> None:
        """Hash a value."""
        if isinstance(value, _ATOMS):
            self._text(type(value).__name__, repr(value))
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self._text("array", value.dtype.str, value.shape)
            self.sha.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (set, frozenset)) and all(isinstance(part, (*_ATOMS, tuple)) for part in value):
            self._text("set", sorted(map(repr, value)))
        elif isinstance(value, (tuple, list, dict, np.ndarray)) and type(value).__module__ in ("builtins", "numpy"):
            self._container(value)
        elif id(value) in self._seen:
            self._text("again", self._seen[id(value)][0])
        else:
            self._seen[id(value)] = len(self._seen), value
            self._text(type(value).__name__)
            self._object(value)

    def _container(self, value: Any) -> None:
        if id(value) in self._open:
            return self._text("around", self._open.index(id(value)))
        self._open.append(id(value))
        parts = value.items() if isinstance(value, dict) else value
        self._text(type(value).__name__, len(value))
        self._each(*(parts.ravel() if isinstance(parts, np.ndarray) else parts))
        self._open.pop()
        return None

    def _object(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.ModuleType):
            self._text(value.__name__)
        elif isinstance(value, type):
            self._class(value)
        elif hasattr(value, "py_func"):  # compiled by Numba
            self._each(value.py_func, getattr(value, "targetoptions", None))
        elif isinstance(value, property):
            self._each(value.fget, value.fset)
        elif isinstance(value, (staticmethod, classmethod, types.MethodType)):
            self._each(value.__func__, getattr(value, "__self__", None))
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.add(value.__wrapped__)
        elif isinstance(value, types.BuiltinFunctionType):
            self._require(self._is_library(value.__module__ or "builtins"), value)
            self._each(value.__module__, value.__qualname__, value.__self__)
        elif dataclasses.is_dataclass(value):
            self._each(type(value), [getattr(value, field.name, None) for field in dataclasses.fields(value)])
        else:
            self._reduced(value)

    def _reduced(self, value: Any) -> None:
        """Hash an object as `copy` and `pickle` see it."""
        self._require(not isinstance(value, _GENERATORS), value)
        try:
            registered = copyreg.dispatch_table.get(type(value))
            reduced = registered(value) if registered else value.__reduce_ex__(4)
        except Exception:  # locks, files, generators, and what code of a user raises
            self._require(False, value)
        if isinstance(reduced, str):  # a global name
            module = getattr(value, "__module__", None) or type(value).__module__
            self._require(self._is_library(module), value)
            return self._each(module, reduced)
        for part in reduced:
            if isinstance(part, dict):  # without values that are computed when they are first asked for
                kind = type(value)
                part = {
                    k: v for k, v in part.items() if not isinstance(getattr(kind, str(k), 0), functools.cached_property)
                }
            self.add(list(part) if isinstance(part, Iterable) and not isinstance(part, (*_ATOMS, type, dict)) else part)
        return None

    def _class(self, kind: type) -> None:
        self._text(kind.__name__)
        if self._is_library(kind.__module__):
            return self._text(kind.__module__, kind.__qualname__)
        self._each(*kind.__bases__)
        for name, member in sorted(vars(kind).items()):
            if _counts(name, member):
                self._dataclass = "__dataclass_fields__" in vars(kind)
                with self._at(name):
                    self._each(name, member)
        return None

    def _function(self, function: types.FunctionType) -> None:
        module, code = function.__globals__.get("__name__", ""), function.__code__
        if self._is_library(module):
            self._text(module, code.co_qualname)
            self.reads.update(code.co_names)
        else:
            with self._at(function.__name__):
                self._code(code, function.__globals__)
            self._each(function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # not filled yet
                content = None
            self.add(content)

    def _code(self, code: types.CodeType, scope: Mapping[str, Any]) -> None:
        self._text(code.co_argcount, code.co_kwonlyargcount, code.co_flags, len(code.co_cellvars))
        self.sha.update(code.co_exceptiontable)
        counts = not (self._dataclass and code.co_name in _GENERATED)
        for op in dis.get_instructions(code):
            if op.opname in ("EXTENDED_ARG", "NOP", "CACHE"):
                continue
            self._text(op.opname)
            if isinstance(op.argval, types.CodeType):
                self._code(op.argval, scope)
            elif op.opcode in dis.hasconst:
                self.reads.update(_names(op.argval) if counts else ())
                self.add(op.argval)
            elif op.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                with self._at(op.argval):
                    self._global(op.argval, scope, code.co_names)
            elif op.opcode in dis.hasname:
                self._text(op.argval)
                self.reads.update(_names(op.argval) if counts and op.opname.startswith("LOAD") else ())
                if op.opname == "IMPORT_NAME" and not self._is_library(op.argval):
                    raise MonMDPError(
                        f"{self._described()} imports {shown(op.argval)} when it runs; import it at the top of its "
                        "file, so that changes of its code are noticed."
                    )
            else:
                self.reads.update(_names(op.argval) if counts and op.opname.startswith("LOAD") else ())
                self._text(op.arg if op.opcode not in (*dis.hasjrel, *dis.hasjabs) else op.argval)

    def _global(self, name: str, scope: Mapping[str, Any], names: Iterable[str]) -> None:
        """Hash a global; of a user's module, the attributes that are among the names."""
        value = scope.get(name, vars(builtins).get(name))
        self._text(name)
        self.reads.add(name)
        if isinstance(value, types.ModuleType) and not self._is_library(value.__name__):
            inner = [other for other in names if other != name]
            for attribute in inner:
                if attribute in vars(value):
                    self._global(attribute, vars(value), inner)
        else:
            self.add(value)

    def _is_library(self, module: str) -> bool:
        """Whether a module is this package, part of Python, or installed."""
        root = module.partition(".")[0]
        if root in self._own:
            return False
        if root in sys.stdlib_module_names or root in ("builtins", "monmdp"):
            return True
        loaded = sys.modules.get(root)
        file = getattr(loaded, "__file__", None) or next(iter(getattr(loaded, "__path__", ())), None)
        return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)

    def _each(self, *values: Any) -> None:
        for value in values:
            self.add(value)

    def _text(self, *words: Any) -> None:
        self.sha.update(f"{words!r}\n".encode())

    @contextlib.contextmanager
    def _at(self, name: str) -> Iterator[None]:
        """The part of the code that is hashed inside a with block, for messages."""
        self._where.append(name)
        yield
        self._where.pop()

    def _described(self) -> str:
        owner, *names = self._where
        return f"{owner}, in {' → '.join(dict.fromkeys(names))}," if names else owner

    def _require(self, identified: bool, value: Any) -> None:
        if not identified:
            generator = "; make one from the seed of a run instead" if isinstance(value, _GENERATORS) else ""
            raise MonMDPError(
                f"{self._described()} uses {shown(value)}, which cannot be identified, so that runs of changed code "
                f"could not be told apart; use functions, classes, numbers, text and arrays only{generator}."
            )


def _counts(name: str, member: Any) -> bool:
    """Whether numbers can depend on an attribute of a class; Python keeps notes in others, such as __slotnames__."""
    code = callable(member) or isinstance(member, (staticmethod, classmethod, property))
    return (code or not name.startswith("__")) and name not in ("_abc_impl", "__annotate__", "__annotate_func__")


def _names(value: Any) -> set[str]:
    """The names in the argument of an instruction."""
    return {name for name in (value if isinstance(value, tuple) else (value,)) if isinstance(name, str)}
