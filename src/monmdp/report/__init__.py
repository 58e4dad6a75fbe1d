"""A results folder as one HTML page that needs no network: overview, curves, claims and a run inspector.

The charts are a few hundred lines of our own SVG. The usual plotting library would add about 4.7 MB of
JavaScript, which a phone parses for seconds, and one more dependency; the page has lines, bands and grids only.
"""

from monmdp.report.assembly import build_page, write_page
from monmdp.report.inspection import FLAGSHIPS, Flagship

__all__ = ["FLAGSHIPS", "Flagship", "build_page", "write_page"]
