// Values of a chart are read with the pointer or with the arrow keys.

// The chosen x of each chart, and the x values that can be chosen.
const cursors = new Map();
const choices = new Map();

// The x value that is chosen in a chart, out of `xs`; null if there is none.
export function chosenX(id, xs, { low, high }) {
  choices.set(id, { xs, low, high });
  return nearest(xs, cursors.get(id));
}

export function forget(id) {
  choices.delete(id);
}

export function nearest(xs, wanted) {
  if (wanted === undefined || !xs.length) return null;
  return xs.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
}

// Read values with the pointer or with the arrow keys. `redraw` draws the page again.
export function readValues(root, redraw) {
  const chartOf = (event) => event.target.closest?.("[data-chart]");
  const choose = (id, value) => {
    if (value === undefined) cursors.delete(id);
    else cursors.set(id, value);
    redraw();
  };
  root.addEventListener("pointermove", (event) => {
    const chart = chartOf(event);
    const known = chart && choices.get(chart.dataset.chart);
    if (!known) return;
    const box = chart.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    choose(chart.dataset.chart, known.low + share * (known.high - known.low));
  });
  for (const kind of ["pointerout", "focusout"]) {
    root.addEventListener(kind, (event) => {
      const chart = chartOf(event);
      if (chart && !chart.contains(event.relatedTarget)) choose(chart.dataset.chart, undefined);
    });
  }
  root.addEventListener("keydown", (event) => {
    const chart = chartOf(event);
    const known = chart && choices.get(chart.dataset.chart);
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[
      event.key
    ];
    if (!known || step === undefined) return;
    event.preventDefault();
    const last = known.xs.length - 1;
    const present = nearest(known.xs, cursors.get(chart.dataset.chart));
    const from = present === null ? (step < 0 ? last + 1 : -1) : known.xs.indexOf(present);
    choose(chart.dataset.chart, known.xs[Math.min(Math.max(from + step, 0), last)]);
  });
}
