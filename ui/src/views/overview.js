import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status } from "../parts.js";
import { Activity } from "./activity.js";
import { LiveEvents } from "./events.js";

export function Overview({ live }) {
  const { data, error } = useData(async () => (await get(`${OPERATORS}/status`)).status, live.newest);
  return html`<h1>Overview</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Problems} problems=${data.problems} /><${Counts} status=${data} />`}
    <${Also} command="evenkeel status" path="${OPERATORS}/status" />
    <${Activity} />
    <h2>Latest events</h2>
    <${LiveEvents} live=${live} most=${8} />
    <${Also} command="evenkeel events" path="${OPERATORS}/events?newest=true" />`;
}

function Problems({ problems }) {
  if (!problems.length) return html`<p class="status good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;
  return html`<section class="problems" aria-label="Problems">
    <h2>${problems.length} ${problems.length === 1 ? "problem" : "problems"}</h2>
    <ul>
      ${problems.map(
        (each) => html`<li>
          <strong>${each.text}</strong>
          <span class="remedy">What helps: <code>${each.remedy}</code></span>
        </li>`,
      )}
    </ul>
  </section>`;
}

function byStatus(counts) {
  return Object.entries(counts)
    .filter(([, count]) => count)
    .map(([name, count]) => html`<li><${Status} value=${name} /> ${count}</li>`);
}

function Counts({ status }) {
  const all = Object.values(status.load_balancers).reduce((sum, count) => sum + count, 0);
  const operating = status.load_balancers_operating ?? {}; // a controller of an earlier version gives none
  const cards = [
    ["Load balancers", all, byStatus(status.load_balancers), "#/loadbalancers"],
    ["Operating ONLINE", operating.ONLINE ?? "?", byStatus(operating), "#/loadbalancers"],
    ["Agents up", status.agents.up, status.agents.down ? html`<li>${status.agents.down} down</li>` : null, "#/agents"],
    ["Shards", status.shards.total, status.shards.unserved ? html`<li><${Status} value="unserved" /> ${status.shards.unserved}</li>` : null, "#/topology"],
    ["Oldest PENDING", `${status.oldest_pending_seconds} s`, null, "#/loadbalancers"],
    ["Message broker", status.message_broker === "connected" ? "connected" : "away", null, "#/topology"],
  ];
  return html`<ul class="cards">
    ${cards.map(
      ([title, value, more, href]) => html`<li>
        <a href=${href}><span class="title">${title}</span> <span class="value">${value}</span></a>
        <ul>
          ${more}
        </ul>
      </li>`,
    )}
  </ul>`;
}
