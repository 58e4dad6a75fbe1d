"""Everything public has a docstring, because the reference is generated from docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

import monmdp

#: Internal modules.
INTERNAL = ("monmdp.cuda", "monmdp.__main__")
MODULES = [
    module.name for module in pkgutil.walk_packages(monmdp.__path__, "monmdp.") if not module.name.startswith(INTERNAL)
]


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """Functions (also compiled ones) and classes of a module, and the methods of its classes."""
    for name, member in vars(module).items():
        plain = getattr(member, "py_func", member)
        if name.startswith("_") or getattr(plain, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(plain) or inspect.isclass(plain):
            yield name, plain
        for part, value in vars(plain).items() if inspect.isclass(plain) else ():
            callable_ = inspect.isfunction(value) and value.__qualname__ == f"{plain.__qualname__}.{part}"
            if not part.startswith("_") and (callable_ or isinstance(value, property | cached_property)):
                yield f"{name}.{part}", getattr(plain, part)


@pytest.mark.parametrize("name", MODULES)
def test_module_is_documented(name: str) -> None:
    """An overriding method may inherit its docstring."""
    module = importlib.import_module(name)
    assert module.__doc__
    assert [name for name, member in public(module) if not inspect.getdoc(member)] == []
