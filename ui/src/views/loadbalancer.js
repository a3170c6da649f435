import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status, short } from "../parts.js";
import { EventList } from "./events.js";
import { LBAAS } from "./loadbalancers.js";

export function LoadBalancer({ id, live }) {
  async function read() {
    const [shown, tree, hosting, events] = await Promise.all([
      get(`${LBAAS}/loadbalancers/${id}`),
      get(`${LBAAS}/loadbalancers/${id}/status`),
      get(`${OPERATORS}/loadbalancers/${id}/agent`),
      get(`${OPERATORS}/events?object_id=${id}&newest=true&limit=50`),
    ]);
    return {
      root: shown.loadbalancer,
      tree: tree.statuses.loadbalancer,
      hosting: hosting.hosting,
      events: events.events.slice().reverse(),
    };
  }
  const { data, error } = useData(read, live.newest, [id]);
  return html`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${data ? data.root.name || short(id) : short(id)}</h1>
    <${Failure} error=${error} />
    ${data && html`<${Facts} data=${data} /><h2>Objects</h2><${Tree} node=${data.tree} kind="load balancer" />
      <h2>History</h2><${EventList} events=${data.events} />`}
    <${Also} command="evenkeel explain ${id}" path="${OPERATORS}/loadbalancers/${id}/agent" />`;
}

function Facts({ data: { root, hosting } }) {
  const behind = hosting.revision - hosting.applied_revision;
  const facts = [
    ["VIP", root.vip_address],
    ["Project", root.project_id],
    ["Provisioning", html`<${Status} value=${hosting.provisioning_status} /> ${hosting.status_reason}`],
    ["Operating", html`<${Status} value=${hosting.operating_status} /> ${hosting.operating_reason}`],
    ["Desired revision", hosting.revision],
    ["On the devices", `${hosting.applied_revision}${behind ? ` (${behind} behind)` : " (the same)"}`],
    ["Written by", hosting.acting ? `${hosting.acting.host}, epoch ${hosting.shard.epoch}` : "no agent"],
    ["Home", hosting.home ? hosting.home.host : "none"],
    ["Before it in line", hosting.ahead],
  ];
  return html`<dl class="facts">
    ${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

const CHILDREN = { listeners: "listener", pools: "pool", members: "member", l7policies: "L7 policy", rules: "L7 rule" };

function Tree({ node, kind }) {
  const children = Object.entries(CHILDREN).flatMap(([key, name]) => (node[key] || []).map((each) => [name, each]));
  if (node.healthmonitor && node.healthmonitor.id) children.push(["health monitor", node.healthmonitor]);
  const address = node.address ? ` ${node.address}:${node.protocol_port}` : "";
  return html`<ul class="tree">
    <li>
      <span class="kind">${kind}</span> ${node.name || node.type || short(node.id)}${address}${" "}
      <${Status} value=${node.provisioning_status} />${node.operating_status && html` <${Status} value=${node.operating_status} />`}
      ${children.map(([name, each]) => html`<${Tree} node=${each} kind=${name} />`)}
    </li>
  </ul>`;
}
