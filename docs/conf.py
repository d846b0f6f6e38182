"""Settings of the documentation; nothing here needs a network."""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "Mercer"
author = "The Mercer developers"
copyright = "The Mercer developers"
level = importlib.import_module("levels").level
release = version = importlib.import_module("mercer._version").__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "scorer.js")
html_sidebars = {name: [] for name in ("choose", "install", "cite")}  # they have no pages below
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    # A file of this site: no other machine is asked. docs/switcher.py writes it for several.
    "switcher": {"json_url": "_static/switcher.json", "version_match": version},
}

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's parameter sections say it better
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
numpydoc_show_class_members = False  # the template of a class lists its members

# Sections of the gallery, in the order a reader meets them.
SECTIONS = (
    "first",
    "regression",
    "intervals",
    "classification",
    "knowledge",
    "space_time",
    "structure",
    "unsupervised",
    "choosing",
    "large",
    "kernels",
    "studies",
    "research",
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("mercer", "mercer_research"),
    "download_all_examples": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "gallery.use_style"),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its pages load scripts from elsewhere
}

# The rooms of the library in the order a reader meets them, from the surface down.
ROOMS = (
    "estimators",
    "machines",
    "manifold",
    "tabular",
    "risk_bounds",
    "selection",
    "compression",
    "smoothing",
    "reduced",
    "local",
    "data",
    "preprocessing",
    "datasets",
    "losses",
    "kernels",
    "regularizers",
    "gram",
    "problems",
    "solvers",
    "programs",
    "series",
    "inspect",
    "density",
    "plotting",
    "distributed",
    "io",
)

# Rooms of `mercer_studio`, the application.
APPLICATION = ("reporting", "cli", "browser")

# The same rooms by what a reader looks for.
GROUPS = {
    "More machines": ("estimators", "tabular", "manifold", "local", "reduced", "machines"),
    "Building blocks": ("losses", "kernels", "regularizers", "preprocessing", "datasets", "data"),
    "Choosing, looking, reporting": (
        *("selection", "inspect", "plotting", "risk_bounds", "smoothing"),
        *("compression", "density", "series"),
    ),
    "Shipping": ("io", "distributed"),
    "Inside": ("problems", "solvers", "programs", "gram"),
}

# Rooms of `mercer_research`, the distribution that may change, at the end.
RESEARCH = (
    "estimators",
    "kernels",
    "programs",
    "series",
    "compression",
    "linear",
    "density",
    "operators",
    "diagnostics",
    "risk_bounds",
    "selection",
    "manifold",
    "covering",
    "fusion",
    "plotting",
)


# Names that programs import from the top, by what they are for.
TASKS = {
    "Tables as they are": ("AutoRegressor", "AutoClassifier"),
    "Support vector machines": ("SVR", "SVC", "NuSVR", "NuSVC", "OneClassSVM"),
    "Least squares": ("LSSVR", "LSSVC"),
    "Any loss, any kernel": ("KernelRegressor", "KernelClassifier", "KernelLogisticRegression"),
    "Intervals and quantiles": ("ConformalRegressor", "QuantileBand", "QuantileSVR"),
    "What you know: shapes, terms": (
        *("ShapeConstrainedRegressor", "ShapeConstrainedClassifier"),
        *("AdditiveRegressor", "AdditiveClassifier"),
    ),
    "Censored targets, missing inputs": ("CensoredRegressor", "MissingInputRegressor"),
    "Curves, space and series": ("SmoothingSpline", "UniversalKriging", "Forecaster"),
    "Large samples, hyperparameters": ("Nystrom", "RandomFeatures", "Local", "tune"),
}


def public(module):
    """Return the classes and functions a module exports, by name."""
    exported = ((name, getattr(module, name)) for name in getattr(module, "__all__", ()))
    return {name: obj for name, obj in exported if inspect.isclass(obj) or inspect.isroutine(obj)}


def section(title, text, module, names, underline="-"):
    lines = [title, underline * len(title), "", text, "", f".. currentmodule:: {module}", ""]
    return [*lines, ".. autosummary::", "   :toctree: .", "", *(f"   {n}" for n in names), ""]


def promised(module, names):
    """Return the level of names that come together, as a sentence."""
    found = sorted({level(f"{module}.{name}") for name in names})
    return f"*{' and '.join(found).capitalize()}.*"


def overview(rooms):
    """Return the tables of the reference's first page: tasks, and rooms by what they are for."""
    lines = ["| task | names | level |", "| --- | --- | --- |"]
    for task, names in TASKS.items():
        links = ", ".join(f"{{obj}}`~mercer.{name}`" for name in names)
        lines.append(f"| {task} | {links} | {promised('mercer', names).strip('*.').lower()} |")
    for title, listed in GROUPS.items():
        lines += ["", f"**{title}**", "", "| room | what it has | names | level |"]
        lines.append("| --- | --- | ---: | --- |")
        for room in listed:
            if rooms.get(room):
                word = paragraphs(importlib.import_module(f"mercer.{room}"))[0]
                where = promised(f"mercer.{room}", rooms[room]).strip("*.").lower()
                text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", word).replace("``", "`")
                link = f"{{ref}}`mercer.{room} <room-{room}>`"
                lines.append(f"| {link} | {text} | {len(rooms[room])} | {where} |")
    return "\n".join(lines) + "\n"


def paragraphs(module):
    """Return the paragraphs of a module's docstring, a line each."""
    return [one.strip().replace("\n", " ") for one in (module.__doc__ or "").split("\n\n")]


def write_reference(app, config):
    """Write the page of the public names, each listed once: at the top if it is exported there."""
    folder = HERE / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    top = public(importlib.import_module("mercer"))
    lines = ["The public names", "================", ""]
    grouped = [name for names in TASKS.values() for name in names]
    if sorted(grouped) != sorted(top):
        raise ValueError(f"names of TASKS and of mercer differ: {set(grouped) ^ set(top)}")
    for task, names in TASKS.items():
        lines += section(task, f"From ``mercer``. {promised('mercer', names)}", "mercer", names)
    pages = {f"mercer.{name}" for name in top}
    listed = sorted(room for group in GROUPS.values() for room in group)
    if listed != sorted(ROOMS):
        raise ValueError(f"rooms of GROUPS and ROOMS differ: {set(listed) ^ set(ROOMS)}")
    rooms = {}
    for room in (room for group in GROUPS.values() for room in group):
        module = importlib.import_module(f"mercer.{room}")
        names = [name for name, obj in public(module).items() if obj is not top.get(name)]
        pages |= {f"mercer.{room}.{name}" for name in names}
        rooms[room] = names
        if names:
            text = f"{paragraphs(module)[0]} {promised(f'mercer.{room}', names)}"
            lines += [f".. _room-{room}:", ""]
            lines += section(f"mercer.{room}", text, f"mercer.{room}", names)
    lines += ["The application", "---------------", ""]
    lines += [" ".join(paragraphs(importlib.import_module("mercer_studio"))), ""]
    for room in APPLICATION:
        name = f"mercer_studio.{room}"
        module = importlib.import_module(name)
        pages |= {f"{name}.{one}" for one in public(module)}
        lines += section(name, paragraphs(module)[0], name, public(module), "~")
    word, text = paragraphs(importlib.import_module("mercer_research"))
    lines += ["Research", "--------", "", word, "", text, ""]
    for room in RESEARCH:
        name = f"mercer_research.{room}"
        module = importlib.import_module(name)
        pages |= {f"{name}.{one}" for one in public(module)}
        lines += section(name, " ".join(paragraphs(module)), name, public(module), "~")
    config.autosummary_context = {"levels": {page: level(page) for page in sorted(pages)}}
    # The page of a name that is gone would be a warning; one that did not change is left alone.
    for stale in folder.glob("mercer*.rst"):
        if stale.stem not in pages:
            stale.unlink()
    (folder / "chart.svg").write_text(importlib.import_module("chart").svg(), encoding="utf-8")
    for name, text in (("api.rst", "\n".join(lines)), ("overview.txt", overview(rooms))):
        target = folder / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def write_kernels(app, config):
    """Write the table of kernels, which the guide to them shows."""
    target = HERE / "reference" / "generated" / "kernels.txt"
    text = f"{importlib.import_module('mercer.kernels').catalogue()}\n"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def write_figures(app, config):
    """Draw the figures of the tutorials from their own code."""
    importlib.import_module("figures").draw_new()


def write_switcher(app, config):
    """Write the menu of versions; docs/switcher.py writes that of a site with several."""
    text = importlib.import_module("switcher").alone()
    (HERE / "_static" / "switcher.json").write_text(text, encoding="utf-8")


def write_notebooks(app, config):
    """Write the tutorials as notebooks, which their pages offer."""
    importlib.import_module("notebooks").write()


def offer_notebook(app, docname, source):
    """Put a link to the notebook of a tutorial below its title."""
    folder, _, name = docname.rpartition("/")
    if folder == "tutorials" and name != "index":
        title, _, rest = source[0].partition("\n")
        where = f"../reference/generated/notebooks/{name}.ipynb"
        source[0] = f"{title}\n\n{{download}}`This lesson as a notebook <{where}>`\n{rest}"


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and the standard library document themselves."""
    origin = getattr(inspect.unwrap(obj) if callable(obj) else obj, "__module__", None)
    inherited = isinstance(origin, str) and not origin.startswith("mercer")
    requests = name.startswith("set_") and name.endswith("_request")
    return True if inherited or requests or name in {"get_params", "set_params"} else None


def setup(app):
    app.connect("config-inited", write_reference)
    app.connect("config-inited", write_kernels)
    app.connect("config-inited", write_figures)
    app.connect("config-inited", write_switcher)
    app.connect("config-inited", write_notebooks)
    app.connect("source-read", offer_notebook)
    app.connect("autodoc-skip-member", skip_member)
