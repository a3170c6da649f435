// A small picture of figures over time; where nothing is known it has a hatched gap.
import { html } from "htm/preact";
import { moment, pieces, unknownSpans } from "./bigchart.js";
import { useId } from "preact/hooks";
import { amount } from "./parts.js";

const WIDTH = 240;
const HEIGHT = 60;
const DASH = 3; // to either side of a value without neighbours, so that it is seen
const GAP = 1.75; // intervals between two points above which nothing is known between them

/**
 * `figures`: names in a point, each with its word beside the value of now. `points` are `seconds` apart; `to`: the end of
 * the picture, in milliseconds. What is not known at that time is said to be so, not shown as it was.
 */
export function Chart({ title, figures, points, seconds, to }) {
  const names = Object.keys(figures);
  const timed = points.map((point) => ({ ...point, time: moment(point.at) }));
  const from = timed.length ? timed[0].time : to;
  const gapMs = seconds * 1000 * GAP;
  const most = Math.max(1e-9, ...timed.flatMap((point) => names.map((name) => point[name] ?? 0)));
  const x = (time) => (((time - from) * WIDTH) / Math.max(1, to - from)).toFixed(1);
  const y = (value) => (HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1);
  const drawn = (name, piece) => {
    const places = piece.map((point) => [x(point.time), y(point[name])]);
    if (places.length > 1) return places.map((place) => place.join(",")).join(" ");
    const [[left, top]] = places;
    return `${left - DASH},${top} ${+left + DASH},${top}`;
  };
  const last = timed[timed.length - 1];
  const isKnown = last && to - last.time <= gapMs;
  const now = isKnown ? names.map((name) => `${figures[name] && `${figures[name]} `}${amount(last[name])}`).join(" ") : "not known";
  const pattern = useId();
  return html`<figure class="chart">
    <figcaption>${title} <strong>${now}</strong></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, now ${now}, at most ${amount(most)}" preserveAspectRatio="none">
      <defs>
        <pattern id=${pattern} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${unknownSpans(timed, names, from, to, gapMs).map(
        ([begin, end]) => html`<rect class="unknown" fill="url(#${pattern})" x=${x(begin)} width=${x(end) - x(begin)} height=${HEIGHT} />`,
      )}
      ${names.flatMap((name, number) => pieces(timed, name, gapMs).map((piece) => html`<polyline class="series-${number}" points=${drawn(name, piece)} />`))}
    </svg>
  </figure>`;
}

/** `lines`: titles and figures. */
export const Charts = ({ lines, points, seconds, to }) =>
  html`<div class="charts">
    ${lines.map(([title, figures]) => html`<${Chart} key=${title} title=${title} figures=${figures} points=${points} seconds=${seconds} to=${to} />`)}
  </div>`;
