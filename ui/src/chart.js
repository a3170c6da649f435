// A small picture of figures over time.
import { html } from "htm/preact";
import { amount } from "./parts.js";

const WIDTH = 240;
const HEIGHT = 60;

/** `figures`: names in a point, each with its word beside the value of now. A point that does not know a figure is left out of its line. */
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
      ${lines.map(([, values], number) => html`<polyline class="series-${number}" points=${values.map(([index, value]) => `${x(index)},${y(value)}`).join(" ")} />`)}
    </svg>
  </figure>`;
}

/** `lines`: titles and figures. */
export const Charts = ({ lines, points }) =>
  html`<div class="charts">${lines.map(([title, figures]) => html`<${Chart} key=${title} title=${title} figures=${figures} points=${points} />`)}</div>`;
