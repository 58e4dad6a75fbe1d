"""A results folder as one HTML page that works offline: overview, curves, claims and a run inspector.

The charts are a few hundred lines of SVG drawn by plain JavaScript. A plotting library would add several megabytes
for a page that has only lines, bands and grids.
"""

from monmdp.report.assembly import build_page, write_page
from monmdp.report.data import REPLAYS, Replay

__all__ = ["REPLAYS", "Replay", "build_page", "write_page"]
