// Figures over time with axes; where nothing is known there is a gap, which is marked.
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { amount } from "./parts.js";
import { useWidth } from "./width.js";

const HEIGHT = 220;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 24];
const TICKS = 4;
const HOUR_MS = 3600000;
/** Milliseconds between two marks of the time axis, by hours shown. */
const EVERY_MS = { 1: HOUR_MS / 6, 6: HOUR_MS, 24: 4 * HOUR_MS };
const NARROW = 420;
const LABEL = 36; // width of a time

export const moment = (text) => Date.parse(`${text}Z`);
const hour = (at) => new Date(at).toISOString().slice(11, 16);
/** A figure beside the axis: as short as it can be. */
const mark = (value) => amount(value).replace(/\.0+(?= |$)/, "");
const isKnown = (value) => value !== null && value !== undefined;

/** The least round number that is not less. */
function roundUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].find((step) => step * size >= value * 0.9999) * size;
}

/** Points of a line in pieces without a gap; a piece of one point is a dot. */
export function pieces(points, name, gapMs) {
  const found = [];
  let last = null;
  for (const point of points) {
    if (!isKnown(point[name])) {
      last = null;
      continue;
    }
    if (last !== null && point.time - last <= gapMs) found[found.length - 1].push(point);
    else found.push([point]);
    last = point.time;
  }
  return found;
}

/** Spans without a point of which any figure is known. */
export function unknownSpans(points, names, from, to, gapMs) {
  const found = [];
  let last = from;
  for (const point of points) {
    if (!names.some((name) => isKnown(point[name]))) continue;
    if (point.time - last > gapMs) found.push([last, point.time]);
    last = point.time;
  }
  if (to - last > gapMs) found.push([last, to]);
  return found;
}

/** `figures`: [name in a point, word]. `sparse`: what to say where there is nothing, which is usual and no gap. */
export function BigChart({ title, unit, figures, points: given, hours, stepMs, to, sparse }) {
  const [place, width] = useWidth();
  const [at, setAt] = useState(null);
  const from = to - hours * HOUR_MS;
  const points = given.map((point) => ({ ...point, time: moment(point.at) })).filter((point) => point.time >= from);
  const names = figures.map(([name]) => name);
  const gapMs = stepMs * 1.75;
  const values = points.flatMap((point) => names.map((name) => point[name])).filter(isKnown);
  const most = Math.max(0, ...values);
  const top = most > 0 ? roundUp(most) : 1;
  const x = (time) => LEFT + ((time - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const shown = at === null ? null : points[Math.min(at, points.length - 1)];
  const newest = sparse ? points.filter((point) => isKnown(point[names[0]])).pop() : points[points.length - 1];
  const nothing = sparse || "not known yet";
  const told = (point) => (names.some((name) => isKnown(point[name])) ? wordsOf(point) : "not known");
  const wordsOf = (point) => figures.map(([name, word]) => `${word} ${isKnown(point[name]) ? `${amount(point[name])} ${unit}` : "not known"}`).join(", ");

  function pointed(event) {
    if (!points.length) return;
    const time = from + ((event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT)) * (to - from);
    setAt(points.reduce((best, point, index) => (Math.abs(point.time - time) < Math.abs(points[best].time - time) ? index : best), 0));
  }
  function pressed(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !points.length) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(points.length - 1, (at === null ? points.length : at) + step)));
  }
  const every = EVERY_MS[hours] * (width < NARROW ? 2 : 1);
  const hoursAt = [];
  for (let time = Math.ceil(from / every) * every; time <= to; time += every) hoursAt.push(time);
  const pattern = `unknown-${title.replace(/\W/g, "")}`;

  return html`<figure class="big chart" ref=${place}>
    <figcaption>
      <span class="name">${title}</span>
      <span class="unit">${unit}</span>
      <span class="read" role="status">${shown ? `${hour(shown.time)} UTC: ${told(shown)}` : newest ? `${sparse ? `last, ${hour(newest.time)}` : "now"}: ${told(newest)}` : nothing}</span>
    </figcaption>
    <svg
      width=${width}
      height=${HEIGHT}
      role="img"
      tabindex="0"
      aria-label="${title} over the last ${hours} h; ${newest ? told(newest) : nothing}. Arrow keys read single points."
      onPointerMove=${pointed}
      onPointerLeave=${() => setAt(null)}
      onKeyDown=${pressed}
      onBlur=${() => setAt(null)}
    >
      <defs>
        <pattern id=${pattern} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" class="hatch" /></pattern>
      </defs>
      ${!sparse &&
      unknownSpans(points, names, from, to, gapMs).map(
        ([begin, end]) => html`<rect class="unknown" fill="url(#${pattern})" x=${x(begin)} y=${TOP} width=${Math.max(0, x(end) - x(begin))} height=${HEIGHT - TOP - BOTTOM} />`,
      )}
      ${Array.from({ length: TICKS + 1 }, (_, index) => (top * index) / TICKS).map(
        (value) => html`<g class="axis"><line x1=${LEFT} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} /><text x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${value === 0 ? "0" : values.length ? mark(value) : ""}</text></g>`,
      )}
      ${hoursAt.map((time) => html`<text class="hour" x=${x(time)} y=${HEIGHT - 6} text-anchor=${width - x(time) < LABEL / 2 ? "end" : "middle"}>${hour(time)}</text>`)}
      ${figures.map(([name], number) =>
        pieces(points, name, sparse ? Infinity : gapMs).map((piece) =>
          piece.length > 1
            ? html`<polyline class="series-${number}" points=${piece.map((point) => `${x(point.time).toFixed(1)},${y(point[name]).toFixed(1)}`).join(" ")} />`
            : html`<circle class="series-${number}" cx=${x(piece[0].time)} cy=${y(piece[0][name])} r="3" />`,
        ),
      )}
      ${shown &&
      html`<line class="cursor" x1=${x(shown.time)} x2=${x(shown.time)} y1=${TOP} y2=${HEIGHT - BOTTOM} />
        ${figures.map(([name], number) => isKnown(shown[name]) && html`<circle class="series-${number} at" cx=${x(shown.time)} cy=${y(shown[name])} r="4" />`)}`}
    </svg>
    <ul class="legend">
      ${figures.map(([, word], number) => html`<li class="series-${number}">${word}</li>`)}
      ${!sparse && html`<li class="gap">not known</li>`}
    </ul>
  </figure>`;
}
