"""How the page looks: light, dark, on paper and at the width of a phone."""

__all__ = ["CSS"]

CSS = """
:root {
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --paper: #ffffff; --ink: #1c2024; --soft: #5a636d; --line: #c3c9d0; --tint: #f3f5f7;
  --blue: #0072b2; --orange: #c65300; --green: #00805d; --warn: #fff4e5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e6e9ec; --soft: #a3adb8; --line: #4a545e; --tint: #1e242a;
    --blue: #5db3ea; --orange: #ff9a52; --green: #35c99b; --warn: #3a2b17;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem; max-width: 58rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 var(--font);
}
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--line); }
header p { color: var(--soft); margin: 0; }
p { margin: .6rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.08rem; font-weight: 600; }
.warn { background: var(--warn); border-left: 4px solid var(--orange); padding: .6rem .9rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.2rem 0; }
.tiles div { background: var(--tint); border-radius: .5rem; padding: .6rem .9rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; overflow-wrap: anywhere; }
nav ol { columns: 3 14rem; margin: 0; padding-left: 1.4rem; font-size: .95rem; }
main > section:first-child h2 { margin-top: 1.2rem; }
a { color: var(--blue); }
a:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
.wide {
  overflow-x: auto; margin: .9rem 0;
  /* A shadow at the end at which the table goes on: covered by paper that scrolls with it. */
  background:
    linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% local no-repeat,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% local no-repeat,
    linear-gradient(to right, var(--line), transparent) left / .8rem 100% scroll no-repeat,
    linear-gradient(to left, var(--line), transparent) right / .8rem 100% scroll no-repeat;
}
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
table.two { max-width: 34rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { padding: .28rem .8rem .28rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 500; }
td.w, tbody th { max-width: 26rem; min-width: 5rem; overflow-wrap: break-word; }
.n { text-align: right; white-space: nowrap; padding-left: .8rem; }
.shade { background: color-mix(in srgb, var(--blue) calc(.45 * var(--share)), transparent); padding-right: .8rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 1.1rem; margin: 1rem 0; }
.figures.even { grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
.figures.one { grid-template-columns: minmax(0, 1fr); }
@media (min-width: 44rem) {
  .figures.one figure { display: grid; grid-template-columns: 2fr 3fr; gap: 1.5rem; align-items: center; }
  .figures.one figcaption { font-size: 1rem; }
}
@media (min-width: 75rem) {
  body { max-width: 82rem; display: grid; grid-template-columns: 15rem minmax(0, 1fr); column-gap: 3rem; }
  header { grid-column: 1 / 3; }
  nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding-top: 1.2rem; }
  nav ol { columns: 1; padding-left: 0; list-style: none; }
  nav li { padding: .25rem 0; }
}
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { fill: var(--ink); }
figcaption { color: var(--soft); font-size: .88rem; margin-top: .2rem; overflow-wrap: anywhere; }
pre { background: var(--tint); border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; line-height: 1.45; }
@media (max-width: 40rem) { body { padding: 1rem; } h1 { font-size: 1.35rem; } nav ol { columns: 1; } }
@media print { nav { display: none; } figure, tr { break-inside: avoid; } body { max-width: none; } }
"""  # noqa: E501
