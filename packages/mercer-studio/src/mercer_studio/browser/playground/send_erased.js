const out = [...points.document.all_models].find((m) => m.title === channel);
const indices = [...points.selected.indices];
if (out != null && !tool.add && indices.length > 0) {
  out.value = JSON.stringify({version: points.tags[0], erase: indices});
}
