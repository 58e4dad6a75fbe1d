"""The keys of `monmdp watch`: faster, slower, pause, single step, quit; and the terminal is restored."""

from __future__ import annotations

import io
import os
import sys
import termios
import time
from contextlib import contextmanager

import pytest
from rich.console import Console

from monmdp.cli.training import Watch, keyboard


def watched(monkeypatch, keys: str, **options) -> str:
    """The output of a run with one key pressed after each picture, and then q."""
    typed = iter(keys)

    @contextmanager
    def typing():
        yield lambda deadline: next(typed, "q")

    monkeypatch.setattr("monmdp.cli.training.keyboard", typing)
    console = Console(file=io.StringIO(), force_terminal=True, width=150, height=60, color_system=None)
    Watch("Loop", steps=500, fps=100_000, **options).run(console)
    return console.file.getvalue()


@pytest.mark.parametrize("key", "qQ\x1b")
def test_quit(monkeypatch, key):
    shown = watched(monkeypatch, key)
    assert "1 of 500" in shown
    assert "2 of 500" not in shown


def test_faster_and_slower(monkeypatch):
    """1, then 2, 4 and again 2 steps per picture: 1, 3, 7 and 9 steps done."""
    shown = watched(monkeypatch, "++-q")
    for done in (1, 3, 7, 9):
        assert f" {done} of 500" in shown
    for skipped in (2, 5, 8, 10):
        assert f" {skipped} of 500" not in shown


def test_slowest_speed_is_one_step(monkeypatch):
    assert " 4 of 500" in watched(monkeypatch, "---q")


def test_pause_and_single_steps(monkeypatch):
    """One step, a pause, two single steps, and one more step after the pause."""
    shown = watched(monkeypatch, " ss q")
    assert "paused" in shown
    for done in (1, 2, 3, 4):
        assert f" {done} of 500" in shown
    assert " 5 of 500" not in shown


def test_other_keys_do_nothing(monkeypatch):
    assert " 4 of 500" in watched(monkeypatch, "xs\tq")


@pytest.fixture
def typing_end(monkeypatch):
    """A pseudo-terminal as standard input; yields the end to type at."""
    master, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield master
    os.close(master)


def test_keys_are_read_without_enter_and_the_terminal_is_restored(typing_end):
    before = termios.tcgetattr(sys.stdin)
    with keyboard() as keys_pressed:
        assert not termios.tcgetattr(sys.stdin)[3] & termios.ICANON
        os.write(typing_end, b"++q")
        assert keys_pressed(time.monotonic() + 0.3) == "++q"
        assert keys_pressed(time.monotonic()) == ""
    assert termios.tcgetattr(sys.stdin) == before


def test_keys_are_read_when_a_picture_took_too_long(typing_end):
    with keyboard() as keys_pressed:
        os.write(typing_end, b"q")
        time.sleep(0.05)
        assert keys_pressed(time.monotonic() - 1.0) == "q"


def test_the_terminal_is_restored_after_an_error(typing_end):
    before = termios.tcgetattr(sys.stdin)
    with pytest.raises(RuntimeError), keyboard():
        raise RuntimeError
    assert termios.tcgetattr(sys.stdin) == before
