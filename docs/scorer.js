// What the search of the site puts first: pages that answer questions, then the reference, and what
// was decided and measured while this was built last.
var Scorer = {
  score: (result) => {
    const [docname, , , , score] = result;
    const places = [
      [/^how-to\/faq$/, 12],
      [/^(how-to|tutorials)\/|^(choose|install|cite|explanation\/limitations)$/, 8],
      [/^contribute\/decisions\/|^(contribute\/(capabilities|index)|changelog)$/, -20],
      [/^auto_examples\//, -4],
    ];
    const place = places.find(([pattern]) => pattern.test(docname));
    return score + (place ? place[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
