"""Figures of a results folder, drawn by name: vector PDF, PNG, and the plotted numbers as CSV."""

from __future__ import annotations

from monmdp.figures.drawing import FIGURES, FigureKind, draw_figure, draw_figures, figure_kind

__all__ = ["FIGURES", "FigureKind", "draw_figure", "draw_figures", "figure_kind"]
