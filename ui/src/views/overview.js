import { Fragment } from "preact";
import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Copy, Failure, Status, kindOf } from "../parts.js";
import { linkTo } from "../route.js";
import { Activity } from "./activity.js";
import { LiveEvents } from "./events.js";

export function Overview({ live, query }) {
  const { data, error } = useData(async () => (await get(`${OPERATORS}/status`)).status, live.newest);
  return html`<h1>Overview</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Verdict} status=${data} /><${Problems} problems=${data.problems} /><${Counts} status=${data} />`}
    <${Also} command="evenkeel status" path="${OPERATORS}/status" />
    <${Activity} query=${query} />
    <h2>Latest events</h2>
    <${LiveEvents} live=${live} most=${8} />
    <${Also} command="evenkeel events" path="${OPERATORS}/events?newest=true" />`;
}

/** Operating statuses in which a load balancer may be meant to be. */
const SERVING = new Set(["ONLINE", "NO_MONITOR"]);

const sumOf = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
const operatingOf = (status) => status.load_balancers_operating ?? {}; // a controller of an earlier version gives none

/** In one sentence, good only if clients are served. */
function Verdict({ status }) {
  if (status.problems.length) return null;
  const operating = operatingOf(status);
  const away = Object.entries(operating).filter(([name, count]) => count && !SERVING.has(name));
  const all = sumOf(operating);
  if (!away.length) return html`<p class="verdict good"><span aria-hidden="true">●</span> Nothing is wrong.</p>`;
  const link = linkTo("loadbalancers", { operating_status: away.map(([name]) => name).join(",") });
  const count = away.reduce((sum, [, each]) => sum + each, 0);
  return html`<p class="verdict unsure">
    <span aria-hidden="true">◆</span> No fault of the system is known, but <a href=${link}>${count.toLocaleString("en")} of ${all.toLocaleString("en")} ${all === 1 ? "load balancer is" : "load balancers are"} not ONLINE</a>:
    without listeners or healthy members, disabled, held, just made, or not observed by an agent.
  </p>`;
}

const PLACES = {
  agent: (id) => `#/agents/${id}`,
  environment: () => "#/environments",
  device_group: () => "#/devices",
  load_balancer: (id) => `#/loadbalancers/${id}`,
  load_balancers: (query) => `#/loadbalancers?${query}`,
  shards: () => "#/topology",
  certificates: (query) => `#/certificates?${query}`,
  controllers: () => "#/controllers",
  devices: () => "#/devices",
};

/** Problems with keys that stay when texts change, which count seconds. */
function withKeys(problems) {
  const found = {};
  return problems.map((each) => {
    const [{ kind, id }] = [...(each.objects || []), { kind: "", id: "" }];
    const subject = `${each.kind} ${kind} ${id}`;
    found[subject] = (found[subject] || 0) + 1;
    return [`${subject} ${found[subject]}`, each];
  });
}

function Problems({ problems }) {
  if (!problems.length) return null;
  return html`<section class="problems" aria-label="Problems">
    <h2>${problems.length} ${problems.length === 1 ? "problem" : "problems"}</h2>
    <ul>
      ${withKeys(problems).map(([key, each]) => html`<${Problem} key=${key} problem=${each} />`)}
    </ul>
  </section>`;
}

function Problem({ problem: { text, remedy, objects = [], commands = [] } }) {
  return html`<li class="problem">
    <h3><span aria-hidden="true">▲</span> ${text}</h3>
    ${objects.length > 0 && html`<p class="about">See ${objects.map((each, index) => html`<${Fragment} key=${`${each.kind} ${each.id}`}>${index > 0 && ", "}<a href=${PLACES[each.kind] ? PLACES[each.kind](each.id) : "#/"}>${each.name}</a><//>`)}</p>`}
    ${commands.length
      ? html`<ul class="commands">
          ${commands.map((each) => html`<li key=${`${each.host} ${each.command}`}>${(each.host || each.condition) && html`<span class="host">${each.host ? `on ${each.host}` : each.condition}</span>`} <code>${each.command}</code> <${Copy} text=${each.command} about=${each.command} /></li>`)}
        </ul>`
      : html`<p class="about">What helps: ${remedy}</p>`}
  </li>`;
}

/** Numbers by status as a bar and as words, each with a link to those load balancers. */
function ByStatus({ title, counts, filter }) {
  const known = Object.entries(counts)
    .filter(([, count]) => count)
    .sort(([one], [other]) => ORDER.indexOf(kindOf(one)) - ORDER.indexOf(kindOf(other)));
  const all = sumOf(counts);
  return html`<section class="panel" aria-label=${title}>
    <h2>${title}</h2>
    <p class="value"><a href="#/loadbalancers">${all.toLocaleString("en")}</a> <span class="dim">${all === 1 ? "load balancer" : "load balancers"}</span></p>
    <div class="bar" aria-hidden="true">${known.map(([name, count]) => html`<span key=${name} class=${kindOf(name)} style=${{ flexGrow: count }}></span>`)}</div>
    <ul>
      ${known.map(([name, count]) => html`<li key=${name}><a href=${linkTo("loadbalancers", { [filter]: name })}><${Status} value=${name} /> <span class="count">${count.toLocaleString("en")}</span></a></li>`)}
    </ul>
  </section>`;
}

const ORDER = ["bad", "unsure", "other", "good"];

function Counts({ status }) {
  const { agents, shards } = status;
  const connected = status.message_broker === "connected";
  const cards = [
    ["Agents up", `${agents.up} of ${agents.up + agents.down}`, agents.down > 0 && html`<${Status} value="silent" /> or stopped: ${agents.down}`, "#/agents"],
    ["Shards", shards.total, shards.unserved > 0 && html`<${Status} value="unserved" /> ${shards.unserved}`, "#/topology"],
    ["Oldest PENDING", `${status.oldest_pending_seconds} s`, null, linkTo("loadbalancers", { provisioning_status: "PENDING_CREATE,PENDING_UPDATE,PENDING_DELETE" })],
    ["Message broker", connected ? "connected" : "away", !connected && html`<${Status} value="out of reach" />`, "#/controllers"],
  ];
  return html`<div class="panels">
      <${ByStatus} title="Operating: as agents observe it" counts=${operatingOf(status)} filter="operating_status" />
      <${ByStatus} title="Provisioning: what devices have" counts=${status.load_balancers} filter="provisioning_status" />
    </div>
    <ul class="cards">
      ${cards.map(([title, value, more, href]) => html`<li key=${title}><a href=${href}><span class="title">${title}</span> <span class="value">${value}</span></a> ${more && html`<p class="more">${more}</p>`}</li>`)}
    </ul>`;
}
