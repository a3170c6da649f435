import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { OPERATORS, get, orRefused, post } from "../api.js";
import { useData } from "../live.js";
import { Also, Copy, Facts, Failure, Status, Table, clock, short } from "../parts.js";
import { linkTo } from "../route.js";
import { EventList } from "./events.js";
import { LBAAS } from "./loadbalancers.js";
import { Tree, withPools } from "./objects.js";
import { Traffic } from "./traffic.js";

export function LoadBalancer({ id, live }) {
  async function read() {
    const [shown, listeners, tree, hosting, history, events] = await Promise.all([
      get(`${LBAAS}/loadbalancers/${id}`),
      get(`${LBAAS}/listeners?loadbalancer_id=${id}&fields=protocol&fields=protocol_port&fields=name`),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/tree`)),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/agent`)),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/history`)),
      orRefused(get(`${OPERATORS}/events?object_id=${id}&newest=true&limit=20`)),
    ]);
    return {
      root: shown.loadbalancer,
      listeners: listeners.listeners,
      tree: tree.refused ? tree : withPools(tree.tree),
      hosting: hosting.refused ? hosting : hosting.hosting,
      history,
      events: events.refused ? events : events.events.slice().reverse(),
    };
  }
  const { data, error } = useData(read, live.newest, [id]);
  return html`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${data ? data.root.name || short(id) : short(id)}</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data &&
    html`<${Summary} data=${data} id=${id} />
      <${Traffic} id=${id} turn=${data.hosting.applied_revision} />
      <h2>Objects</h2>
      ${data.tree.refused ? html`<${Failure} error=${data.tree.refused} />` : html`<${Tree} node=${data.tree} root=${id} />`}
      <${Also} command="evenkeel loadbalancer tree ${id}" path="${OPERATORS}/loadbalancers/${id}/tree" />
      <${Difference} id=${id} />
      <${History} history=${data.history} id=${id} />
      <h2>Events</h2>
      ${data.events.refused ? html`<${Failure} error=${data.events.refused} />` : html`<${EventList} events=${data.events} />`}`}
    <${Also} command="evenkeel explain ${id}" path="${OPERATORS}/loadbalancers/${id}/agent" />`;
}

/** Protocol and port of each listener, with its name. */
const wordsOf = (listeners) => listeners.map((each) => `${each.protocol} ${each.protocol_port}${each.name && ` (${each.name})`}`).join(", ") || "none";

const withCopy = (id) => html`<code>${id}</code> <${Copy} text=${id} about="the id" />`;

function Summary({ data: { root, hosting, listeners }, id }) {
  if (hosting.refused) return html`<${Told} root=${root} /><${Failure} error=${hosting.refused} />`;
  const behind = hosting.revision - hosting.applied_revision;
  return html`<${Facts}
    facts=${[
      ["Id", withCopy(id)],
      ["VIP", root.vip_address],
      ["Listeners", wordsOf(listeners)],
      ["Environment", hosting.shard ? `${hosting.shard.environment}, device group ${hosting.shard.group_number}` : `${root.provider}, not placed yet`],
      ["Project", html`<a href=${linkTo("loadbalancers", { project_id: root.project_id })}>${root.project_id}</a>`],
      ["Flavor", root.flavor_id || ""],
      ["Availability zone", root.availability_zone || ""],
      ["Provisioning", html`<${Status} value=${hosting.provisioning_status} /> ${hosting.status_reason}`],
      ["Operating", html`<${Status} value=${hosting.operating_status} /> ${hosting.operating_reason}`],
      ["Desired revision", hosting.revision],
      ["On the devices", `${hosting.applied_revision}${behind ? ` (${behind} behind)` : " (the same)"}`],
      ["Written by", hosting.acting ? html`<a href="#/agents/${hosting.acting.id}">${hosting.acting.host}</a>, epoch ${hosting.shard.epoch}` : "no agent"],
      ["Home", hosting.home ? html`<a href="#/agents/${hosting.home.id}">${hosting.home.host}</a>` : "none"],
      ["Before it in line", hosting.ahead],
    ]}
  />
  ${hosting.remedy && html`<p class="problem">What helps: <code>${hosting.remedy}</code> <${Copy} text=${hosting.remedy} about="what helps" /></p>`}`;
}

/** What a tenant may read of it. */
function Told({ root }) {
  return html`<${Facts}
    facts=${[
      ["VIP", root.vip_address],
      ["Project", root.project_id],
      ["Provisioning", html`<${Status} value=${root.provisioning_status} /> ${root.status_reason}`],
      ["Operating", html`<${Status} value=${root.operating_status} />`],
    ]}
  />`;
}

const TIMEOUT_MS = 30000; // longer than the controller waits for the agent

/** Desired beside observed: the agent that serves it reads the devices and plans; nothing is changed. */
function Difference({ id }) {
  const [state, setState] = useState({ plan: null, error: null, asking: false });
  async function ask() {
    setState({ plan: null, error: null, asking: true });
    try {
      setState({ plan: (await post(`${OPERATORS}/loadbalancers/${id}/plan`, undefined, TIMEOUT_MS)).plan, error: null, asking: false });
    } catch (error) {
      setState({ plan: null, error, asking: false });
    }
  }
  return html`<section aria-labelledby="difference">
    <h2 id="difference">Desired and observed</h2>
    <p><button type="button" onClick=${ask} disabled=${state.asking}>Compare with the devices</button>${" "}
      Its agent reads the devices and says what its next pass would change. Nothing is changed.</p>
    <div aria-live="polite">
      ${state.asking && html`<p>Asking the agent…</p>`}
      <${Failure} error=${state.error} />
      ${state.plan && state.plan.devices.map((device) => html`<${DevicePlan} key=${device.device} device=${device} host=${state.plan.host} />`)}
    </div>
    <${Also} command="evenkeel plan ${id}" path="${OPERATORS}/loadbalancers/${id}/plan" method="POST" />
  </section>`;
}

function DevicePlan({ device, host }) {
  const rows = device.operations.flatMap((step, number) => {
    const attributes = step.attributes.length ? step.attributes : [{ name: "", present: "", wanted: "" }];
    return attributes.map((attribute, index) => ({ id: `${number}.${index}`, step, attribute }));
  });
  const columns = [
    ["Would", ({ step }) => step.verb],
    ["Object", ({ step }) => html`${step.type} <strong>${step.name}</strong>${step.note && ` (${step.note})`}`],
    ["Attribute", ({ attribute }) => attribute.name],
    ["Observed", ({ attribute }) => attribute.present],
    ["Desired", ({ attribute }) => attribute.wanted],
  ];
  return html`<h3>${device.device}, read by ${host}</h3>
    ${device.problem && html`<p class="failure">${device.problem}</p>`}
    ${!rows.length && !device.problem
      ? html`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`
      : html`<${Table} caption="Differences on ${device.device}" columns=${columns} rows=${rows} empty="" />`}
    ${device.more > 0 && html`<p>${device.more} more objects differ.</p>`}`;
}

function History({ history, id }) {
  const columns = [
    ["Revision", (row) => row.revision],
    ["Accepted", (row) => html`<time>${clock(row.accepted_at)}</time>`],
    ["By", (row) => who(row)],
    ["Request", (row) => (row.request_id ? html`<code>${row.request_id}</code>` : "")],
    ["Applied", (row) => (row.applied_at ? html`<time>${clock(row.applied_at)}</time>` : row.problem ? html`<${Status} value="failed" /> ${row.problem}` : html`<${Status} value="waiting" />`)],
    ["Seconds", (row) => (row.seconds === null ? "" : row.seconds.toFixed(2))],
    ["By agent", (row) => (row.host ? html`<a href="#/agents/${row.agent_id}">${row.host}</a>` : "")],
    ["Epoch", (row) => row.epoch],
  ];
  return html`<h2>History</h2>
    <${Failure} error=${history.refused} />
    <${Table} caption="Revisions" columns=${columns} rows=${history.history && history.history.map((row) => ({ ...row, id: row.revision }))} empty="No revision is known: it was made before revisions were kept." />
    <${Also} command="evenkeel loadbalancer history ${id}" path="${OPERATORS}/loadbalancers/${id}/history" />`;
}

function who(row) {
  if (!row.request_id) return "the controllers (certificate or network)";
  return `${row.user || "anybody: no authentication"} ${row.project_id && `(${short(row.project_id)})`}`;
}
