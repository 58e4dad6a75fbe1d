"""Sphinx configuration; `make docs` builds the site."""

from __future__ import annotations

import sys
from pathlib import Path

import monmdp

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "monmdp"
version = release = monmdp.__version__
author = "the monmdp contributors"
html_title = "monmdp"
html_show_copyright = False

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "catalogue",
    "command_help",
    "formulas",
    "outside",
    "prose_docstrings",
]
exclude_patterns = ["extensions", "**/.ipynb_checkpoints"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # !command in a notebook is not valid Python
nb_execution_mode = "off"  # notebooks are committed with outputs; the tests run them

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Floats", "Integers", "Booleans", "Schedule", "GoalPolicy", "Progress")}
python_use_unqualified_type_names = True
nitpick_ignore_regex = [("py:.*", r"(?!monmdp\.).*|.*\.T")]  # types of other libraries, and names of array types
python_maximum_signature_line_length = 140
add_module_names = False
toc_object_entries_show_parents = "hide"

highlight_language = "text"  # blocks without a language are commands and their output
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#f5b324", "color-brand-content": "#7db7f5"},
    "navigation_with_keys": True,
}
copybutton_prompt_text = "$ "

linkcheck_timeout = 20
linkcheck_anchors = False
