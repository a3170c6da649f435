// A small picture of figures over time.
import { html } from "htm/preact";
import { amount } from "./parts.js";

const WIDTH = 240;
const HEIGHT = 60;
const DASH = 3; // to either side of a value without neighbours, so that it is seen

/** `figures`: names in a point, each with its word beside the value of now. Where points do not know a figure, its line has a gap. */
export function Chart({ title, figures, points }) {
  const names = Object.keys(figures);
  const known = (name) => points.map((point, index) => [index, point[name]]).filter(([, value]) => value !== null && value !== undefined);
  const lines = names.map((name) => [name, known(name)]);
  if (!lines.some(([, values]) => values.length)) return null;
  const most = Math.max(1e-9, ...lines.flatMap(([, values]) => values.map(([, value]) => value)));
  const x = (index) => ((index * WIDTH) / Math.max(1, points.length - 1)).toFixed(1);
  const y = (value) => (HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1);
  const drawn = (run) =>
    run.length > 1 ? run.map(([index, value]) => `${x(index)},${y(value)}`).join(" ") : `${x(run[0][0]) - DASH},${y(run[0][1])} ${+x(run[0][0]) + DASH},${y(run[0][1])}`;
  const now = lines
    .filter(([, values]) => values.length)
    .map(([name, values]) => `${figures[name] && `${figures[name]} `}${amount(values[values.length - 1][1])}`)
    .join(" ");
  return html`<figure class="chart">
    <figcaption>${title} <strong>${now}</strong></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, last ${now}, at most ${amount(most)}" preserveAspectRatio="none">
      ${lines.flatMap(([, values], number) =>
        runs(values).map((run) => html`<polyline class="series-${number}" points=${drawn(run)} />`),
      )}
    </svg>
  </figure>`;
}

/** Values whose points follow each other. */
function runs(values) {
  const found = [];
  for (const each of values) {
    const last = found[found.length - 1];
    if (last && last[last.length - 1][0] === each[0] - 1) last.push(each);
    else found.push([each]);
  }
  return found;
}

/** `lines`: titles and figures. */
export const Charts = ({ lines, points }) =>
  html`<div class="charts">${lines.map(([title, figures]) => html`<${Chart} key=${title} title=${title} figures=${figures} points=${points} />`)}</div>`;
