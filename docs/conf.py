"""Sphinx configuration for the pages that docs/render.py collects."""

from __future__ import annotations

import millstream

project = "millstream"
copyright = "millstream contributors"
version = release = millstream.__version__

extensions = ["myst_parser"]
#: Anchors in the style of a code host, so that links work on both.
myst_heading_anchors = 4
# The reference already contains signatures and tables; nothing is executed.
highlight_language = "none"

html_theme = "furo"
html_title = f"millstream {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005a8c", "color-brand-content": "#0067a3"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
pygments_style = "tango"
pygments_dark_style = "monokai"
