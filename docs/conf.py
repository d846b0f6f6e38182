"""Settings of the documentation; nothing here needs a network."""

import importlib
import inspect
import os
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
html_sidebars = {"choose": []}  # it has no pages below it
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
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
    "doc_module": ("mercer",),
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
    "claims",
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
    "reporting",
    "distributed",
    "io",
    "cli",
    "studio",
)

# Rooms of `mercer.research`, at the end.
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
    "A page about a model": ("report",),
}


def public(module):
    """Return the classes and functions a module exports, by name."""
    exported = ((name, getattr(module, name)) for name in getattr(module, "__all__", ()))
    return {name: obj for name, obj in exported if inspect.isclass(obj) or inspect.isroutine(obj)}


def section(title, text, module, names, underline="-"):
    lines = [title, underline * len(title), "", text, "", f".. currentmodule:: {module}", ""]
    return [*lines, ".. autosummary::", "   :toctree: .", "", *(f"   {n}" for n in names), ""]


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
        lines += section(task, "From ``mercer``.", "mercer", names)
    pages = {f"mercer.{name}" for name in top}
    for room in ROOMS:
        module = importlib.import_module(f"mercer.{room}")
        names = [name for name, obj in public(module).items() if obj is not top.get(name)]
        pages |= {f"mercer.{room}.{name}" for name in names}
        if names:
            lines += section(f"mercer.{room}", paragraphs(module)[0], f"mercer.{room}", names)
    word, text = paragraphs(importlib.import_module("mercer.research"))
    lines += ["Research", "--------", "", word, "", text, ""]
    for room in RESEARCH:
        name = f"mercer.research.{room}"
        module = importlib.import_module(name)
        pages |= {f"{name}.{one}" for one in public(module)}
        lines += section(name, " ".join(paragraphs(module)), name, public(module), "~")
    config.autosummary_context = {"levels": {page: level(page) for page in sorted(pages)}}
    # The page of a name that is gone would be a warning; one that did not change is left alone.
    for stale in folder.glob("mercer.*.rst"):
        if stale.stem not in pages:
            stale.unlink()
    (folder / "chart.svg").write_text(importlib.import_module("chart").svg(), encoding="utf-8")
    index, text = folder / "api.rst", "\n".join(lines)
    if not index.exists() or index.read_text(encoding="utf-8") != text:
        index.write_text(text, encoding="utf-8")


def write_kernels(app, config):
    """Write the table of kernels, which the guide to them shows."""
    target = HERE / "reference" / "generated" / "kernels.txt"
    text = f"{importlib.import_module('mercer.kernels').catalogue()}\n"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def write_rooms(app, config):
    """Draw the rooms of the library and the way through a fit, which decisions show."""
    rooms, folder = importlib.import_module("rooms"), HERE / "reference" / "generated"
    rooms.draw(folder / "rooms.svg")
    rooms.draw_fit(folder / "fit.svg")


def write_figures(app, config):
    """Draw the figures of the tutorials from their own code."""
    importlib.import_module("figures").draw_new()


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and the standard library document themselves."""
    origin = getattr(inspect.unwrap(obj) if callable(obj) else obj, "__module__", None)
    inherited = isinstance(origin, str) and not origin.startswith("mercer")
    requests = name.startswith("set_") and name.endswith("_request")
    return True if inherited or requests or name in {"get_params", "set_params"} else None


def setup(app):
    app.connect("config-inited", write_reference)
    app.connect("config-inited", write_kernels)
    app.connect("config-inited", write_rooms)
    app.connect("config-inited", write_figures)
    app.connect("autodoc-skip-member", skip_member)
