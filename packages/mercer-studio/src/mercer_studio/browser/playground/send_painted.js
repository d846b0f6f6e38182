// After the next frame of the browser, what was sent with this number is on the screen: Bokeh asks
// for its part of that frame before this does.
const out = [...picture.document.all_models].find((m) => m.title === channel);
const n = picture.data.n[0];
if (out != null) {
  requestAnimationFrame(() => setTimeout(() => { out.value = String(n); }, 0));
}
