// Requests and times to ACTIVE of this controller, and the traffic of all load balancers.
import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { BigChart } from "../bigchart.js";
import { useData } from "../live.js";
import { Also, Failure, amount, clock } from "../parts.js";
import { linkTo } from "../route.js";

const PATH = `${OPERATORS}/activity`;
const SPANS = [1, 6, 24];
const POINTS = 360; // of a longer span the API gives means
const CHARTS = [
  { title: "API requests", unit: "/s", figures: [["requests", "answered"], ["failed_requests", "failed"]] },
  { title: "Time to ACTIVE", unit: "s", figures: [["time_to_active_seconds", "mean"]], sparse: "no change in this time" },
  { title: "Traffic", unit: "B/s", figures: [["bytes_in", "in"], ["bytes_out", "out"]] },
  { title: "Connections", unit: "/s", figures: [["connections", "new"]] },
];

export function Activity({ query }) {
  const hours = SPANS.includes(Number(query.hours)) ? Number(query.hours) : 1;
  const path = `${PATH}?hours=${hours}`;
  const { data, error, at } = useData(async () => ({ ...(await get(path)).activity, hours }), 0, [path]);
  return html`<section aria-labelledby="activity">
    <div class="heading">
      <h2 id="activity">API requests, time to ACTIVE and traffic</h2>
      <nav class="spans" aria-label="Span">
        ${SPANS.map((each) => html`<a href=${linkTo("", { hours: each === 1 ? "" : String(each) })} aria-current=${each === hours ? "true" : null}>${each} h</a>`)}
      </nav>
    </div>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Known} data=${data} to=${at} />`}
    <${Also} command="evenkeel activity" path=${path} />
  </section>`;
}

function Known({ data, to }) {
  const { requests, time_to_active: times, points, hours } = data;
  const each = data.interval * 1000 * Math.max(1, Math.ceil((hours * 3600) / data.interval / POINTS));
  return html`<p class="live">
      This controller process since ${clock(data.since)} UTC: ${amount(requests.count)} API requests, ${amount(requests.failed)} failed,
      ${requests.mean_seconds === null ? "" : ` ${Math.round(requests.mean_seconds * 1000)} ms on average;`}
      ${times.count ? ` ${amount(times.count)} ${times.count === 1 ? "change" : "changes"} became ACTIVE by reports to it, half of them within ${amount(times.median_seconds)} s, 95 % within ${amount(times.p95_seconds)} s.` : " no change became ACTIVE by a report to it."}
      ${" "}Other controllers count their own. Traffic is that of all load balancers.
    </p>
    ${points.length ? "" : html`<p class="empty">${data.reason}</p>`}
    <div class="bigs">${CHARTS.map((chart) => html`<${BigChart} key=${chart.title} ...${chart} points=${points} hours=${hours} stepMs=${each} to=${to} />`)}</div>`;
}
