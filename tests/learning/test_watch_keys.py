"""The keys of `monmdp watch`: faster, slower, pause, one step, quit; and a terminal that is left as it was found."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.console import Console

from monmdp.cli.keys import Keys
from monmdp.cli.watch import Watch


class Typed:
    """Stands in for a keyboard: one key after each picture."""

    def __init__(self, keys: str) -> None:
        self.keys = iter(keys)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        pass

    def pressed(self, wait: float):
        return iter([next(self.keys, "q")])


def watched(monkeypatch, keys: str, **options) -> str:
    monkeypatch.setattr("monmdp.cli.watch.Keys", lambda: Typed(keys))
    console = Console(file=io.StringIO(), force_terminal=True, width=150, height=60, color_system=None)
    Watch("Loop", steps=500, fps=100_000, **options).run(console)
    return console.file.getvalue()


@pytest.mark.parametrize("key", "qQ\x1b")
def test_quitting(monkeypatch, key):
    shown = watched(monkeypatch, key)
    assert "1 of 500" in shown
    assert "2 of 500" not in shown


def test_faster_and_slower(monkeypatch):
    """1, then 2 and 4 steps a picture, then 2 again: 1, 3, 7 and 9 steps done."""
    shown = watched(monkeypatch, "++-q")
    for done in (1, 3, 7, 9):
        assert f" {done} of 500" in shown
    for skipped in (2, 5, 8, 10):
        assert f" {skipped} of 500" not in shown


def test_there_is_a_slowest_speed(monkeypatch):
    assert " 4 of 500" in watched(monkeypatch, "---q")


def test_pausing_and_single_steps(monkeypatch):
    """One step, a pause, two single steps, and one on."""
    shown = watched(monkeypatch, " ss q")
    assert "paused" in shown
    for done in (1, 2, 3, 4):
        assert f" {done} of 500" in shown
    assert " 5 of 500" not in shown


def test_other_keys_do_nothing(monkeypatch):
    assert " 4 of 500" in watched(monkeypatch, "xs\tq")


@pytest.fixture
def terminal(monkeypatch):
    """A pseudo-terminal as standard input, and the end at which one types."""
    master, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield master
    os.close(master)


def test_keys_are_read_at_once_and_the_terminal_is_restored(terminal):
    import termios

    before = termios.tcgetattr(sys.stdin)
    with Keys() as keys:
        assert not termios.tcgetattr(sys.stdin)[3] & termios.ICANON  # no waiting for the end of a line
        os.write(terminal, b"+")
        assert list(keys.pressed(1.0)) == ["+"]
        assert list(keys.pressed(0.0)) == []
    assert termios.tcgetattr(sys.stdin) == before


def test_the_terminal_is_restored_after_an_error(terminal):
    import termios

    before = termios.tcgetattr(sys.stdin)
    with pytest.raises(RuntimeError), Keys():
        raise RuntimeError
    assert termios.tcgetattr(sys.stdin) == before


def test_keys_typed_together_all_count(terminal):
    """Whoever types `++q` between two pictures must not wait for another key to be heard."""
    with Keys() as keys:
        os.write(terminal, b"++q")
        found = list(keys.pressed(1.0))
        found += list(keys.pressed(0.0))
    assert found == ["+", "+", "q"]
