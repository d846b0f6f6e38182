"""Settings of the documentation; nothing here needs a network."""

import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "Mercer"
author = "The Mercer developers"
copyright = "The Mercer developers"
ext = importlib.import_module("_ext")
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
    # A file of this site: no other machine is asked. tools/site.py writes it for several.
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
    "reset_modules": ("matplotlib", "_ext.use_style"),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its pages load scripts from elsewhere
}

# Rooms whose names are stable, beside those of the front door; other rooms are provisional, and all
# of `mercer_research` may change without notice (docs/versions.md).
STABLE = {
    "mercer": (
        *("datasets", "estimators", "io", "kernels", "losses", "preprocessing", "regularizers"),
        "tabular",
    ),
    "mercer_studio": ("cli", "reporting"),
}

# The rooms of the library by what a reader looks for.
GROUPS = {
    "More machines": ("estimators", "tabular", "manifold", "local", "reduced", "machines"),
    "Building blocks": ("losses", "kernels", "regularizers", "preprocessing", "datasets", "data"),
    "Choosing, looking, reporting": (
        *("selection", "inspect", "plotting", "risk_bounds", "smoothing"),
        "compression",
    ),
    "Shipping": ("io", "distributed"),
    "Inside": ("problems", "solvers", "programs", "gram"),
}

# Names that programs import from the top, by what they are for.
TASKS = {
    "Tables as they are": ("AutoRegressor", "AutoClassifier"),
    "Support vector machines": (
        *("SVR", "SVC", "LinearSVC", "LinearSVR", "NuSVR", "NuSVC", "OneClassSVM"),
    ),
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


def level(name):
    """Return what a public name promises: stable, provisional or research."""
    package, *rooms, last = name.split(".")
    if package == "mercer_research":
        return "research"
    front = package == "mercer" and last in importlib.import_module("mercer").__all__
    return "stable" if front or (rooms and rooms[0] in STABLE[package]) else "provisional"


def rooms_of(package):
    """Return the rooms of a package that export names."""
    path = importlib.import_module(package).__path__
    names = [found.name for found in pkgutil.iter_modules(path) if found.name[0] != "_"]
    return [n for n in names if hasattr(importlib.import_module(f"{package}.{n}"), "__all__")]


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
    top = public(importlib.import_module("mercer"))
    lines = ["The public names", "================", ""]
    grouped = [name for names in TASKS.values() for name in names]
    if sorted(grouped) != sorted(top):
        raise ValueError(f"names of TASKS and of mercer differ: {set(grouped) ^ set(top)}")
    for task, names in TASKS.items():
        lines += section(task, f"From ``mercer``. {promised('mercer', names)}", "mercer", names)
    pages = {f"mercer.{name}" for name in top}
    listed = {room for group in GROUPS.values() for room in group}
    if wrong := listed ^ set(rooms_of("mercer")):
        raise ValueError(f"rooms of GROUPS and of mercer differ: {wrong}")
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
    for room in rooms_of("mercer_studio"):
        name = f"mercer_studio.{room}"
        module = importlib.import_module(name)
        pages |= {f"{name}.{one}" for one in public(module)}
        lines += section(name, paragraphs(module)[0], name, public(module), "~")
    word, text = paragraphs(importlib.import_module("mercer_research"))
    lines += ["Research", "--------", "", word, "", text, ""]
    for room in rooms_of("mercer_research"):
        name = f"mercer_research.{room}"
        module = importlib.import_module(name)
        pages |= {f"{name}.{one}" for one in public(module)}
        lines += section(name, " ".join(paragraphs(module)), name, public(module), "~")
    config.autosummary_context = {"levels": {page: level(page) for page in sorted(pages)}}
    # The page of a name that is gone would be a warning; one that did not change is left alone.
    for stale in folder.glob("mercer*.rst"):
        if stale.stem not in pages:
            stale.unlink()
    ext.write_if_changed(folder / "api.rst", "\n".join(lines))
    ext.write_if_changed(folder / "overview.txt", overview(rooms))


def write_tutorials(app, config):
    """Draw the figures of the tutorials from their own code, and write them as notebooks."""
    ext.draw_new_figures()
    ext.write_notebooks()


def write_switcher(app, config):
    """Write the menu of versions of a site with one version, which is the root of its host."""
    menu = [{"name": version, "version": version, "url": "/", "preferred": True}]
    (HERE / "_static" / "switcher.json").write_text(json.dumps(menu), encoding="utf-8")


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
    app.connect("config-inited", write_tutorials)
    app.connect("config-inited", write_switcher)
    app.connect("source-read", offer_notebook)
    app.connect("autodoc-skip-member", skip_member)
