// A small picture of figures over time.
import { html } from "htm/preact";
import { amount } from "./parts.js";

const WIDTH = 240;
const HEIGHT = 60;

/** `figures`: names in a point, each with its word beside the value of now. Where points do not know a figure, its line has a gap. */
export function Chart({ title, figures, points }) {
  const names = Object.keys(figures);
  const known = (name) => points.map((point, index) => [index, point[name]]).filter(([, value]) => value !== null && value !== undefined);
  const lines = names.map((name) => [name, known(name)]);
  if (!lines.some(([, values]) => values.length)) return null;
  const most = Math.max(1e-9, ...lines.flatMap(([, values]) => values.map(([, value]) => value)));
  const x = (index) => ((index * WIDTH) / Math.max(1, points.length - 1)).toFixed(1);
  const y = (value) => (HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1);
  const now = lines
    .filter(([, values]) => values.length)
    .map(([name, values]) => `${figures[name] && `${figures[name]} `}${amount(values[values.length - 1][1])}`)
    .join(" ");
  return html`<figure class="chart">
    <figcaption>${title} <strong>${now}</strong></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, last ${now}, at most ${amount(most)}" preserveAspectRatio="none">
      ${lines.flatMap(([, values], number) =>
        runs(values).map((run) => html`<polyline class="series-${number}" points=${run.map(([index, value]) => `${x(index)},${y(value)}`).join(" ")} />`),
      )}
    </svg>
  </figure>`;
}

/** Values whose points follow each other; one alone twice, so that it is seen as a dot. */
function runs(values) {
  const found = [];
  for (const each of values) {
    const last = found[found.length - 1];
    if (last && last[last.length - 1][0] === each[0] - 1) last.push(each);
    else found.push([each]);
  }
  return found.map((run) => (run.length > 1 ? run : [run[0], run[0]]));
}

/** `lines`: titles and figures. */
export const Charts = ({ lines, points }) =>
  html`<div class="charts">${lines.map(([title, figures]) => html`<${Chart} key=${title} title=${title} figures=${figures} points=${points} />`)}</div>`;
