"""Sphinx configuration of the documentation site; `make site` builds it without the network."""

import os
import shutil
import sys
import tempfile
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "graphgate"
author = "The graphgate founders"
project_copyright = author
version = release = installed_version("graphgate")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
    "command_line",
    "cora_page",
    "tutorial_times",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}  # generated pages have the first
exclude_patterns = ["extensions", "kernel"]
default_role = "py:obj"
smartquotes_action = "D"  # quotation marks belong to code

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

# Tutorials run when the site is built, each in a kernel of its own; an error stops the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# Kernels have settings of their own, and write their history elsewhere.
kernel_settings = shutil.copytree(
    Path(__file__).parent / "kernel", tempfile.mkdtemp(), dirs_exist_ok=True
)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ |= {"IPYTHONDIR": str(kernel_settings), "COLUMNS": "100", "NO_COLOR": "1"}

autosummary_generate = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

templates_path = ["templates"]
html_theme = "pydata_sphinx_theme"
html_title = "graphgate"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "install": []}
html_theme_options = {
    "logo": {
        "text": "graphgate",
        "image_light": "static/logo.svg",
        "image_dark": "static/logo.svg",
    },
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_favicon = "static/logo.svg"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
