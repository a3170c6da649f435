// Small pictures of a load balancer's traffic, where the controller offers its series.
import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, amount } from "../parts.js";

const WIDTH = 240;
const HEIGHT = 60;
const LINES = [
  ["Connections per second", ["connections"]],
  ["Open connections", ["active_connections"]],
  ["Bytes per second", ["bytes_in", "bytes_out"]],
  ["Errors per second", ["request_errors"]],
  ["Members online", ["members_online", "members"]],
];
const TITLES = { bytes_in: "in", bytes_out: "out", members_online: "online", members: "of" };

export function Traffic({ id, turn }) {
  const path = `${OPERATORS}/loadbalancers/${id}/series`;
  const { data } = useData(() => get(path), turn, [id]);
  if (!data || !data.points || data.points.length < 2) return null;
  const begin = data.points[0].at.slice(11, 16);
  return html`<h2>Traffic since ${begin} UTC</h2>
    <div class="charts">${LINES.map(([title, names]) => html`<${Chart} title=${title} names=${names} points=${data.points} />`)}</div>
    <${Also} command="evenkeel loadbalancer series ${id}" path=${path} />`;
}

function Chart({ title, names, points }) {
  const most = Math.max(1e-9, ...points.flatMap((point) => names.map((name) => point[name] || 0)));
  const last = points[points.length - 1];
  const x = (index) => ((index * WIDTH) / (points.length - 1)).toFixed(1);
  const y = (value) => (HEIGHT - 2 - ((value || 0) / most) * (HEIGHT - 6)).toFixed(1);
  const now = names.map((name) => `${TITLES[name] ? `${TITLES[name]} ` : ""}${amount(last[name] || 0)}`).join(", ");
  return html`<figure class="chart">
    <figcaption>${title}: <strong>${now}</strong></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, now ${now}, at most ${amount(most)}" preserveAspectRatio="none">
      ${names.map((name, number) => html`<polyline class="series-${number}" points=${points.map((point, index) => `${x(index)},${y(point[name])}`).join(" ")} />`)}
    </svg>
  </figure>`;
}
