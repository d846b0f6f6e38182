"""How the studio looks: light, dark and at the width of a phone, in the colours of reports."""

from mercer_studio.reporting.look import CSS as REPORT

__all__ = [
    "AWAY",
    "CONTENT",
    "FIELDS",
    "FRAME",
    "HALVES",
    "LINE",
    "NATURAL",
    "PAGE",
    "PANE",
    "STACK",
    "STAGE",
    "STAGES",
    "WHOLE",
    "WIDGET",
    "WORK",
]

LIGHT = """
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --paper: #ffffff; --ink: #1c2024; --soft: #5a636d; --line: #c3c9d0; --tint: #f3f5f7;
  --blue: #0072b2; --orange: #c65300; --green: #00805d; --warn: #fff4e5; --press: #005f96;
"""
DARK = """
  --paper: #14181c; --ink: #e6e9ec; --soft: #a3adb8; --line: #4a545e; --tint: #1e242a;
  --blue: #5db3ea; --orange: #ff9a52; --green: #35c99b; --warn: #3a2b17; --press: #8bcbf3;
"""

PAGE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
html, body {{ margin: 0; padding: 0; background: var(--paper); color: var(--ink); }}
body {{ font: 15px/1.5 var(--font); min-height: 100vh; }}
"""
"""Of the page itself: colours, which all parts inherit."""

FRAME = """
:host { display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); gap: 0;
  align-items: start; width: 100%; min-height: 100vh; font-family: var(--font); margin: 0 !important; }
@media (max-width: 52rem) { :host { grid-template-columns: minmax(0, 1fr); min-height: 0; } }
"""
"""Of the two columns: stages and work."""

STAGES = """
:host { width: 100% !important; display: flex; flex-direction: column; gap: .25rem; padding: 1rem .75rem;
  background: var(--tint); min-height: 100vh; box-sizing: border-box; position: sticky; top: 0; }
@media (max-width: 52rem) {
  :host { flex-direction: row; flex-wrap: nowrap; overflow-x: auto; min-height: 0;
    padding: .5rem; gap: .35rem; z-index: 5; }
}
"""

STAGE = """
:host { margin: 0 !important; width: 100%; }
.bk-btn.bk-btn-default { width: 100%; text-align: left; padding: .5rem .7rem; border-radius: .5rem; cursor: pointer;
  border: 1px solid transparent; background: transparent !important; color: var(--ink) !important; font: 500 15px var(--font);
  white-space: nowrap; box-shadow: none; }
.bk-btn.bk-btn-default:hover { background: color-mix(in srgb, var(--blue) 12%, transparent) !important; }
.bk-btn:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; }
:host(.here) .bk-btn.bk-btn-default { background: var(--paper) !important; border-color: var(--line); font-weight: 650; }
@media (max-width: 52rem) { :host { width: auto; flex: 0 0 auto; } }
"""

WORK = """
:host { display: block; width: 100%; margin: 0 !important; padding: 1.2rem 1.6rem 3rem; box-sizing: border-box; min-width: 0;
  max-width: 86rem; }
@media (max-width: 52rem) { :host { padding: .8rem .9rem 2rem; } }
"""

PANE = """
:host { display: grid; grid-template-columns: minmax(16rem, 21rem) minmax(0, 1fr);
  gap: 1.6rem; align-items: start; width: 100%; }
@media (max-width: 70rem) { :host { grid-template-columns: minmax(14rem, 17rem) minmax(0, 1fr); gap: 1.1rem; } }
@media (max-width: 52rem) { :host { grid-template-columns: minmax(0, 1fr); } }
"""
"""Of a step: settings beside what they give."""

AWAY = ":host(.away), .scroll-button { display: none !important; }"
"""Of what is not seen now. A part that has a display of its own is not hidden by its `visible`."""

WHOLE = ":host { display: block; width: 100%; min-width: 0; }"

STACK = """
:host { display: flex; flex-direction: column; gap: .7rem; width: 100%; min-width: 0;
  flex-wrap: nowrap; }
"""

LINE = """
:host { display: flex; flex-direction: row; flex-wrap: wrap; gap: .45rem; width: 100%;
  align-items: end; }
"""

HALVES = """
:host { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: 1.4rem; width: 100%; }
"""

FIELDS = """
:host { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(12rem, 100%), 1fr));
  gap: .6rem 1.1rem; width: 100%; }
"""
"""Of the settings of a machine."""

# Rules of the report that are about the page as a whole do not hold inside of a part of it.
_RULES = REPORT.split("* { box-sizing", 1)[1]
CONTENT = (
    AWAY
    + ":host { color: var(--ink); font: 15px/1.5 var(--font); width: 100%; display: block; margin: 0 !important; }\n"
    "* { box-sizing"
    + _RULES
    + """
h1 { font-size: 1.35rem; margin: 0 0 .2rem; } h2 { border: 0; margin: .4rem 0; padding: 0; font-size: 1.1rem; }
p:first-child { margin-top: 0; }
.quiet { color: var(--soft); margin-top: 0; }
.stale { opacity: .45; }
.state { display: inline-block; border-radius: 1rem; padding: .05rem .6rem; font-size: .82rem;
  border: 1px solid var(--line); color: var(--soft); }
.state.fresh { color: var(--green); border-color: var(--green); }
.state.running { color: var(--blue); border-color: var(--blue); }
.state.failed { color: var(--orange); border-color: var(--orange); }
figure.large { margin: .9rem 0; max-width: 56rem; }
.progress { background: var(--tint); border-radius: .6rem; padding: .9rem 1rem; }
.progress .time { font-size: 1.6rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.progress .last { color: var(--soft); min-height: 1.5em; overflow-wrap: anywhere; }
.progress svg { height: 9rem; width: 100%; }
.progress text { font-size: 11px; fill: var(--soft); }
.progress path { fill: none; stroke: var(--blue); stroke-width: 2; vector-effect: non-scaling-stroke; }
pre { max-height: 32rem; overflow: auto; }
"""
)
"""Of words, tables and figures: those of a report."""

NATURAL = ":host { width: auto !important; flex: 0 0 auto; }"
"""Of what is as wide as its words."""

WIDGET = """
:host { margin: 0 !important; width: 100%; max-width: 100%; font-family: var(--font); color: var(--ink);
  --input-background-color: var(--paper); --border-color: var(--line); }
label, .bk-input-group label { color: var(--soft); font: 500 13px var(--font); }
.bk-input, select, input, textarea { background: var(--paper) !important; color: var(--ink) !important;
  border: 1px solid var(--line) !important; border-radius: .4rem !important; font: 15px var(--font) !important;
  min-height: 2.15rem; }
input[type=checkbox], input[type=radio] { min-height: 0; accent-color: var(--blue); }
select[multiple] { min-height: 7rem; }
.bk-input:focus, select:focus { outline: 2px solid var(--blue); outline-offset: 1px; box-shadow: none; }
.bk-btn { border: 1px solid var(--line); border-radius: .45rem; font: 500 14px var(--font);
  padding: .45rem .9rem; box-shadow: none; cursor: pointer; }
.bk-btn.bk-btn-default { background: var(--tint) !important; color: var(--ink) !important; }
.bk-btn.bk-btn-default:hover { background: color-mix(in srgb, var(--blue) 14%, var(--paper)) !important; }
.bk-btn:disabled { opacity: .5; }
.bk-btn.bk-btn-primary { background: var(--blue) !important; color: var(--paper) !important; border-color: var(--blue); }
.bk-btn.bk-btn-primary a { color: var(--paper) !important; }
.bk-btn.bk-btn-primary:hover { background: var(--press); color: var(--paper); }
.bk-btn.bk-btn-default.bk-active { background: var(--blue); color: var(--paper); }
.bk-btn-group { flex-wrap: wrap; gap: .3rem; }
.bk-btn-group .bk-btn { border-radius: .45rem !important; border: 1px solid var(--line) !important; flex: 0 1 auto; }
.bk-btn-group .bk-btn.bk-active { background: var(--blue) !important; color: var(--paper) !important; box-shadow: none; }
.bk-input-group label:has(input) { font-size: 14px; color: var(--ink); line-height: 1.35; margin: .18rem 0; display: flex; gap: .4rem; align-items: baseline; white-space: normal; }
.bk-input-group > div { max-width: 100%; }
.bk-description { display: none; }
.noUi-target { background: var(--tint); border-color: var(--line); box-shadow: none; }
.noUi-connect { background: var(--blue) !important; }
.noUi-handle { background: var(--paper); border-color: var(--line); box-shadow: none; }
.bk-slider-title, .bk-slider-value { color: var(--soft); font: 500 13px var(--font); }
a { color: var(--blue); }
a.bk-btn, .bk-btn a { color: var(--ink) !important; }
"""
"""Of buttons and fields."""
