// Requests and times to ACTIVE of this controller, and the traffic of all load balancers.
import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { Charts } from "../chart.js";
import { useData } from "../live.js";
import { Also, Failure, amount, clock } from "../parts.js";
import { TRAFFIC } from "./traffic.js";

const PATH = `${OPERATORS}/activity`;
const OWN = [
  ["Requests per second", { requests: "", failed_requests: "failed" }],
  ["Seconds per request", { request_seconds: "" }],
  ["Changes that became ACTIVE", { changes: "" }],
  ["Seconds to ACTIVE", { time_to_active_seconds: "" }],
];

export function Activity() {
  const { data, error } = useData(async () => (await get(PATH)).activity, 0);
  return html`<section aria-labelledby="activity">
    <h2 id="activity">Requests, time to ACTIVE and traffic</h2>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Known} data=${data} />`}
    <${Also} command="evenkeel activity" path=${PATH} />
  </section>`;
}

function Known({ data }) {
  const { requests, time_to_active: times, points } = data;
  const last = points[points.length - 1];
  const cards = [
    ["Requests", amount(requests.count), `${amount(requests.failed)} failed`],
    ["Time to answer", requests.mean_seconds === null ? "–" : `${Math.round(requests.mean_seconds * 1000)} ms`, "mean"],
    ["Time to ACTIVE", times.count ? `${amount(times.median_seconds)} s` : "–", times.count ? `median of ${amount(times.count)}; 95 % within ${amount(times.p95_seconds)} s` : "no change yet"],
    ["Traffic", last && last.connections !== null ? `${amount(last.connections)}/s` : "–", last ? `new connections; load balancers observed: ${last.load_balancers}` : data.reason],
  ];
  return html`<p class="live">Requests and times are those of the controller (of several workers: the one) that answered, since ${clock(data.since)} UTC; traffic is that of all load balancers, the same on every controller.</p>
    <ul class="cards">
      ${cards.map(([title, value, more]) => html`<li><span class="title">${title}</span> <span class="value">${value}</span><ul><li>${more}</li></ul></li>`)}
    </ul>
    ${points.length > 1 && html`<${Charts} lines=${[...OWN, ...TRAFFIC]} points=${points} />`}`;
}
