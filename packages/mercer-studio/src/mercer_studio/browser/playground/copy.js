const text = script.data.text[0];
const done = () => { const old = button.label; button.label = "Copied";
                     setTimeout(() => { button.label = old; }, 1200); };
const by_hand = () => {
  const area = document.createElement("textarea");
  area.value = text; document.body.append(area); area.select();
  document.execCommand("copy"); area.remove(); done();
};
if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, by_hand); }
else { by_hand(); }
