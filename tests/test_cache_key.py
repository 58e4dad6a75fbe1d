"""The folder of compiled kernels has another name as soon as a source changes that kernels are compiled from."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import monmdp
from monmdp.kernels.compile import cache_folder

#: Folders above the library, without kernels.
ABOVE = {"deep", "study", "paper", "figures", "report", "cli"}


def test_any_change_in_the_library_changes_the_folder(tmp_path):
    package = tmp_path / "monmdp"
    shutil.copytree(Path(monmdp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before, changing = cache_folder(package), set()
    assert before == cache_folder(), "the folder depends on the sources, not on where they are"
    for source in package.rglob("*.py"):
        text, name = source.read_text(), source.relative_to(package)
        source.write_text(text + "#\n")
        if cache_folder(package) != before:
            changing.add(name)
        else:
            assert name.parts[0] in ABOVE
            assert not re.search(r"^@(kernel|inlined|internal)\b", text, re.MULTILINE), name
        source.write_text(text)
    folders = {name.parts[0] for name in changing}
    assert folders >= {"agents", "exact", "kernels", "training", "gym", "environments", "cuda", "problem.py"}
    assert not folders & ABOVE
