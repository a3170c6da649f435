// What is below a load balancer: its tree, and one listener, pool, member, health monitor, L7 policy or rule.
import { html } from "htm/preact";
import { get } from "../api.js";
import { useData } from "../live.js";
import { Also, Facts, Failure, Status, short } from "../parts.js";
import { LBAAS } from "./loadbalancers.js";

/** By the word in the page's address: what it is called, its key in an answer, its words on the command line. */
const KINDS = {
  listener: ["listener", "listener", "listener", (id) => `listeners/${id}`],
  pool: ["pool", "pool", "pool", (id) => `pools/${id}`],
  member: ["member", "member", "member", (id, pool) => `pools/${pool}/members/${id}`],
  healthmonitor: ["health monitor", "healthmonitor", "healthmonitor", (id) => `healthmonitors/${id}`],
  l7policy: ["L7 policy", "l7policy", "l7policy", (id) => `l7policies/${id}`],
  rule: ["L7 rule", "rule", "l7rule", (id, policy) => `l7policies/${policy}/rules/${id}`],
};
const CHILDREN = { listeners: "listener", pools: "pool", members: "member", l7policies: "l7policy", rules: "rule" };
const PARENTED = new Set(["member", "rule"]);
const STATUSES = new Set(["provisioning_status", "operating_status"]);

const addressOf = (root, kind, id, parent) => `#/loadbalancers/${root}/${kind}/${id}${PARENTED.has(kind) ? `/${parent}` : ""}`;

/** The tree as it is drawn: pools below the listeners that send to them; those that no listener uses stay above. */
export function withPools(tree) {
  const pools = new Map(tree.pools.map((pool) => [pool.id, pool]));
  const used = new Set();
  const listeners = tree.listeners.map((listener) => {
    const targets = new Set([listener.default_pool_id, ...listener.l7policies.map((policy) => policy.redirect_pool_id)]);
    for (const id of targets) used.add(id);
    return { ...listener, pools: [...targets].filter((id) => pools.has(id)).map((id) => pools.get(id)) };
  });
  return { ...tree, listeners, pools: tree.pools.filter((pool) => !used.has(pool.id)) };
}

export function Tree({ node, kind, root, parent }) {
  const children = Object.entries(CHILDREN).flatMap(([key, name]) => (node[key] || []).map((each) => [name, each]));
  if (node.health_monitor) children.push(["healthmonitor", node.health_monitor]);
  const address = node.address ? ` ${node.address}:${node.protocol_port}` : "";
  const name = node.name || node.type || short(node.id);
  return html`<ul class="tree">
    <li>
      <span class="kind">${kind ? KINDS[kind][0] : "load balancer"}</span>${" "}
      ${kind ? html`<a href=${addressOf(root, kind, node.id, parent)}>${name}${address}</a>` : name}${" "}
      <${Status} value=${node.provisioning_status} />${node.status_reason && ` ${node.status_reason}`}${node.operating_status && html` <${Status} value=${node.operating_status} />`}
      ${children.map(([below, each]) => html`<${Tree} node=${each} kind=${below} root=${root} parent=${node.id} />`)}
    </li>
  </ul>`;
}

export function ChildObject({ root, kind, id, parent, live }) {
  const [title, key, words, path] = KINDS[kind] || KINDS.listener;
  const { data, error } = useData(async () => (await get(`${LBAAS}/${path(id, parent)}`))[key], live.newest, [kind, id, parent]);
  return html`<p><a href="#/loadbalancers/${root}">The load balancer</a></p>
    <h1>${title} ${data ? data.name || short(id) : short(id)}</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Facts} facts=${Object.entries(data).map(([name, value]) => [name, shown(name, value, root, id, data)])} />`}
    <${Also}
      command="openstack loadbalancer ${words} show ${PARENTED.has(kind) ? `${parent} ` : ""}${id}"
      path="${LBAAS}/${path(id, parent)}"
    />`;
}

const LINKS = { default_pool_id: "pool", redirect_pool_id: "pool", healthmonitor_id: "healthmonitor", listener_id: "listener", pool_id: "pool" };

function shown(name, value, root, id) {
  if (STATUSES.has(name)) return html`<${Status} value=${value} />`;
  if (value === null || value === undefined || value === "") return "–";
  if (LINKS[name]) return html`<a href=${addressOf(root, LINKS[name], value, id)}>${short(value)}</a>`;
  if (Array.isArray(value) && CHILDREN[name] && value.every((each) => each && each.id))
    return value.length ? value.map((each) => html`<a href=${addressOf(root, CHILDREN[name], each.id, id)}>${short(each.id)}</a>${" "}`) : "none";
  if (typeof value === "object") return JSON.stringify(value) === "[]" ? "none" : html`<code>${JSON.stringify(value)}</code>`;
  return String(value);
}
