"""Tables as Markdown and for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from monmdp.tables import markdown, terminal


def shown(table) -> str:
    console = Console(width=60)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_markdown():
    assert markdown(["a", "b|c"], [["x", 1], ["y", 2.5]], align="lr") == "\n".join([
        "| a | b\\|c |", "|---|---:|", "| x | 1 |", "| y | 2.5 |"
    ])  # fmt: skip
    assert markdown(["a"], []) == "| a |\n|---|"


def test_terminal_shows_text_as_it_is():
    text = shown(terminal(["name", "value"], [["[red]x[/]", Text("1", "green")]], title="results of [b]"))
    assert all(words in text for words in ("results of [b]", "[red]x[/]", "name", "value", "1"))


def test_terminal_without_header_or_rows():
    assert shown(terminal([], [["a", "b"]])).split() == ["a", "b"]
    assert "name" in shown(terminal(["name"], []))


def test_right_alignment():
    lines = shown(terminal(["n"], [["1"], ["100"]], align="r")).splitlines()
    assert len({len(line.rstrip()) for line in lines if "1" in line}) == 1
