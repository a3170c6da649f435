// What is below a load balancer: its tree, and one listener, pool, member, health monitor, L7 policy or rule.
import { Fragment } from "preact";
import { html } from "htm/preact";
import { get, orRefused } from "../api.js";
import { OPERATORS } from "../api.js";
import { Act, listOf } from "../acts.js";
import { useData } from "../live.js";
import { Also, Facts, Failure, Status, short } from "../parts.js";
import { watches } from "../watches.js";
import { LBAAS } from "./loadbalancers.js";

/** By the word in the page's address: what it is called, its key in an answer, its words on the command line. */
const KINDS = {
  listener: ["listener", "listener", "listener", (id) => `listeners/${id}`],
  pool: ["pool", "pool", "pool", (id) => `pools/${id}`],
  member: ["member", "member", "member", (id, pool) => `pools/${pool}/members/${id}`],
  healthmonitor: ["health monitor", "healthmonitor", "healthmonitor", (id) => `healthmonitors/${id}`],
  l7policy: ["L7 policy", "l7policy", "l7policy", (id) => `l7policies/${id}`],
  rule: ["L7 rule", "rule", "l7rule", (id, policy) => `l7policies/${policy}/rules/${id}`],
  // the OpenStack client has no commands for these
  ratelimitpolicy: ["rate limit policy", "ratelimitpolicy", "", (id) => `ratelimitpolicies/${id}`],
  ratelimitrule: ["rate limit rule", "rule", "", (id, policy) => `ratelimitpolicies/${policy}/rules/${id}`],
};
const CHILDREN = { listeners: "listener", pools: "pool", members: "member", l7policies: "l7policy", rules: "rule", rate_limit_policies: "ratelimitpolicy", rate_limit_rules: "ratelimitrule" };
const PARENTED = new Set(["member", "rule", "ratelimitrule"]);
const STATUSES = new Set(["provisioning_status", "operating_status"]);

const addressOf = (root, kind, id, parent) => `#/loadbalancers/${root}/${kind}/${id}${PARENTED.has(kind) ? `/${parent}` : ""}`;

/** The tree as it is drawn: a pool below the first listener that sends to it, and as a link below others; those that no listener uses stay above. */
export function withPools(tree) {
  const pools = new Map(tree.pools.map((pool) => [pool.id, pool]));
  const used = new Set();
  const listeners = tree.listeners.map((listener) => {
    const targets = [...new Set([listener.default_pool_id, ...listener.l7policies.map((policy) => policy.redirect_pool_id)])].filter((id) => pools.has(id));
    const own = targets.filter((id) => !used.has(id)).map((id) => pools.get(id));
    const shared = targets.filter((id) => used.has(id)).map((id) => pools.get(id));
    for (const id of targets) used.add(id);
    return { ...listener, pools: own, shared };
  });
  return { ...tree, listeners, pools: tree.pools.filter((pool) => !used.has(pool.id)) };
}

/** Of objects whose devices nobody sees at present: nothing is shown as working. */
const lastSeen = (value) => html`<span class="status other"><span aria-hidden="true">◌</span> ${value} when last seen</span>`;

/** `unseen`: no agent serves the load balancer now. */
export function Tree({ node, kind, root, parent, unseen }) {
  const children = Object.entries(CHILDREN).flatMap(([key, name]) => (node[key] || []).map((each) => [name, each]));
  if (node.health_monitor) children.push(["healthmonitor", node.health_monitor]);
  const address = node.address ? ` ${node.address}:${node.protocol_port}` : "";
  const services = (node.enhanced_services || []).join(", ");
  const limit = node.metric ? ` ${node.threshold} ${node.metric} in ${node.interval} s` : "";
  const name = node.name || node.type || short(node.id);
  return html`<ul class="tree">
    <li>
      <span class="kind">${kind ? KINDS[kind][0] : "load balancer"}</span>${" "}
      ${kind ? html`<a href=${addressOf(root, kind, node.id, parent)}>${name}${address}${limit}</a>` : name}${" "}
      <${Status} value=${node.provisioning_status} />${node.status_reason && ` ${node.status_reason}`}${node.operating_status && html` ${unseen ? lastSeen(node.operating_status) : html`<${Status} value=${node.operating_status} />`}`}${services && html` <span class="kind">enhanced services</span> ${services}`}
      ${(node.shared || []).map((pool) => html`<ul key=${`shared ${pool.id}`} class="tree"><li><span class="kind">pool</span> <a href=${addressOf(root, "pool", pool.id)}>${pool.name || short(pool.id)}</a>, the same as above</li></ul>`)}
      ${children.map(([below, each]) => html`<${Tree} key=${each.id} node=${each} kind=${below} root=${root} parent=${node.id} unseen=${unseen} />`)}
    </li>
  </ul>`;
}

export function ChildObject({ root, kind, id, parent, live }) {
  const [title, key, words, path] = KINDS[kind] || KINDS.listener;
  const { data, error } = useData(async () => (await get(`${LBAAS}/${path(id, parent)}`))[key], live.newest, [kind, id, parent]);
  return html`<p><a href="#/loadbalancers/${root}">The load balancer</a></p>
    <h1>${title} ${data ? data.name || short(id) : short(id)}</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Facts} facts=${Object.entries(data).map(([name, value]) => [name, shown(kind === "ratelimitpolicy" && name === "rules" ? "rate_limit_rules" : name, value, root, id, data)])} />`}
    ${kind === "listener" && data && html`<${Irules} id=${id} root=${root} turn=${live.newest} />`}
    <${Also}
      command=${words ? `openstack loadbalancer ${words} show ${PARENTED.has(kind) ? `${parent} ` : ""}${id}` : `evenkeel loadbalancer tree ${root}`}
      path="${LBAAS}/${path(id, parent)}"
    />`;
}

/** iRules that operators keep on a listener, where its devices can have them. */
function Irules({ id, root, turn }) {
  const path = `${OPERATORS}/listeners/${id}/irules`;
  const { data, again } = useData(() => orRefused(get(path)), turn, [id]);
  if (!data || data.refused) return null;
  const { irules } = data.listener;
  return html`<h2>iRules of operators</h2>
    <p>${irules.length ? irules.map((each) => html`<${Fragment} key=${each}><code>${each}</code>${" "}<//>`) : "None is attached."}</p>
    <div class="actions">
      <${Act}
        name="listener_set_irules"
        label="Set iRules"
        params=${{ id }}
        fields=${[{ name: "irules", label: "Paths on the devices, one a line, in their order", kind: "lines", hint: "/Common/name", initial: irules.join("\n") }]}
        body=${(values) => ({ irules: listOf(values.irules) })}
        command=${(values) => `evenkeel irule set ${id} ${listOf(values.irules).join(" ")}`}
        watch=${() => watches.applied(root)}
        done=${again}
      />
    </div>
    <${Also} command="evenkeel irule show ${id}" path=${path} />`;
}

const LINKS = { default_pool_id: "pool", redirect_pool_id: "pool", healthmonitor_id: "healthmonitor", listener_id: "listener", pool_id: "pool" };

function shown(name, value, root, id) {
  if (STATUSES.has(name)) return html`<${Status} value=${value} />`;
  if (value === null || value === undefined || value === "") return "–";
  if (LINKS[name]) return html`<a href=${addressOf(root, LINKS[name], value, id)}>${short(value)}</a>`;
  if (Array.isArray(value) && CHILDREN[name] && value.every((each) => each && (each.id || typeof each === "string")))
    return value.length ? value.map((each) => each.id || each).map((each) => html`<${Fragment} key=${each}><a href=${addressOf(root, CHILDREN[name], each, id)}>${short(each)}</a>${" "}<//>`) : "none";
  if (typeof value === "object") return JSON.stringify(value) === "[]" ? "none" : html`<code>${JSON.stringify(value)}</code>`;
  return String(value);
}
