// The points after a tap, a deletion or the end of a drag, and while one is dragged; the version
// tells drawings of the browser from those that the server replaced since.
const out = [...points.document.all_models].find((m) => m.title === channel);
if (out != null) {
  const {x, y, label} = points.data;
  const said = {version: points.tags[0], x: [...x], y: [...y], label: [...label], moving};
  out.value = JSON.stringify(said);
}
