import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { OPERATORS, get, orRefused, post } from "../api.js";
import { Act, Actions } from "../acts.js";
import { useData } from "../live.js";
import { Also, Copy, Facts, Failure, Status, clock, short } from "../parts.js";
import { linkTo } from "../route.js";
import { watches } from "../watches.js";
import { References } from "./certificates.js";
import { EventList } from "./events.js";
import { LBAAS } from "./loadbalancers.js";
import { MoveEnds, MoveOne, movesOf } from "../moves.js";
import { Tree, withPools } from "./objects.js";
import { PlanView } from "../plans.js";
import { Traffic, listenerName } from "./traffic.js";

export function LoadBalancer({ id, live }) {
  async function read() {
    const [shown, listeners, tree, hosting, history, events, certificates, moves, agents] = await Promise.all([
      get(`${LBAAS}/loadbalancers/${id}`),
      get(`${LBAAS}/listeners?loadbalancer_id=${id}&fields=id&fields=protocol&fields=protocol_port&fields=name`),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/tree`)),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/agent`)),
      orRefused(get(`${OPERATORS}/loadbalancers/${id}/history`)),
      orRefused(get(`${OPERATORS}/events?object_id=${id}&newest=true&limit=20`)),
      orRefused(get(`${OPERATORS}/references?load_balancer_id=${id}`)),
      orRefused(movesOf(id)),
      orRefused(get(`${OPERATORS}/agents`)),
    ]);
    return {
      root: shown.loadbalancer,
      listeners: listeners.listeners,
      tree: tree.refused ? tree : withPools(tree.tree),
      certificates,
      move: (moves.moves || []).find((move) => move.step !== "done"),
      groups: (agents.agents || []).map((agent) => `${agent.environment}/${agent.group_number}`),
      hosting: hosting.refused ? hosting : hosting.hosting,
      history,
      events: events.refused ? events : events.events.slice().reverse(),
    };
  }
  const { data, error, again } = useData(read, live.newest, [id]);
  return html`<p><a href="#/loadbalancers">All load balancers</a></p>
    <h1>${data ? data.root.name || short(id) : short(id)}</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data &&
    html`<${Explained} hosting=${data.hosting} />
      <${Acts} data=${data} id=${id} done=${again} />
      <${Summary} data=${data} id=${id} />
      <${Traffic} id=${id} turn=${data.hosting.applied_revision} listeners=${data.listeners} />
      <${CertificatesInUse} found=${data.certificates} id=${id} />
      <h2>Objects</h2>
      ${data.tree.refused ? html`<${Failure} error=${data.tree.refused} />` : html`<${Tree} node=${data.tree} root=${id} unseen=${!data.hosting.refused && !(data.hosting.acting && data.hosting.acting.alive)} />`}
      <${Also} command="evenkeel loadbalancer tree ${id}" path="${OPERATORS}/loadbalancers/${id}/tree" />
      <${Difference} id=${id} />
      <${History} history=${data.history} id=${id} />
      <h2>Events</h2>
      ${data.events.refused ? html`<${Failure} error=${data.events.refused} />` : html`<${EventList} events=${data.events} />`}`}
    <${Also} command="evenkeel explain ${id}" path="${OPERATORS}/loadbalancers/${id}/agent" />`;
}

/** Its state in a sentence, and what to do: as `evenkeel explain` says. */
function Explained({ hosting: { explanation } }) {
  if (!explanation) return null;
  const { state, action } = explanation;
  if (action === NOTHING) return html`<p class="verdict good"><span aria-hidden="true">●</span> ${sentence(state)}. No action is needed.</p>`;
  return html`<div class="problem explained">
    <p><strong>▲ ${sentence(state)}.</strong></p>
    <p>What to do: ${action} <${Copy} text=${action} about="what to do" /></p>
  </div>`;
}

const NOTHING = "nothing";
const sentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

function Acts({ data: { root, hosting, move, groups }, id, done }) {
  if (hosting.refused) return null;
  const name = root.name || short(id);
  const here = hosting.shard && `${hosting.shard.environment}/${hosting.shard.group_number}`;
  const others = [...new Set(groups)].filter((group) => group !== here).sort();
  return html`<${Actions} names=${["loadbalancer_failover", "move_create", "loadbalancer_import"]}>
    ${!hosting.held &&
    html`<${Act}
      name="loadbalancer_failover"
      label="Apply again"
      about=${name}
      params=${{ id }}
      facts=${hosting.acting ? `${hosting.acting.host} serves it now.` : "No agent serves it now."}
      plan=${async () => ({ view: html`<p>What the next pass would change:</p><${PlanView} plan=${(await post(`${OPERATORS}/loadbalancers/${id}/plan`, undefined, TIMEOUT_MS)).plan} />` })}
      command=${() => `openstack loadbalancer failover ${id}`}
      watch=${() => watches.applied(id)}
      done=${done}
    />`}
    ${hosting.held &&
    html`<${Act}
      name="loadbalancer_import"
      label="Release to devices"
      about=${name}
      params=${{ id }}
      facts=${`Has the other system stopped answering for ${root.vip_address}?`}
      body=${() => ({ held: false })}
      command=${() => `evenkeel switch-over ${id}`}
      watch=${() => watches.activeAgain(id)}
      done=${done}
    />`}
    ${move ? html`<${MoveEnds} move=${move} done=${done} />` : html`<${MoveOne} id=${id} name=${name} groups=${others} done=${done} />`}
  <//>`;
}

function CertificatesInUse({ found, id }) {
  if (found.references && !found.references.length) return null;
  return html`<h2>Certificates</h2>
    <${Failure} error=${found.refused} />
    ${found.references && html`<${References} rows=${found.references} caption="Certificates of this load balancer" empty="" />`}
    <${Also} command="evenkeel certificate list --expiring" path="${OPERATORS}/references?load_balancer_id=${id}" />`;
}

/** Protocol and port of each listener, with its name. */
const wordsOf = (listeners) => listeners.map(listenerName).join(", ") || "none";

const withCopy = (id) => html`<code>${id}</code> <${Copy} text=${id} about="the id" />`;

function Summary({ data: { root, hosting, listeners }, id }) {
  if (hosting.refused) return html`<${Told} root=${root} /><${Failure} error=${hosting.refused} />`;
  const behind = hosting.revision - hosting.applied_revision;
  return html`<${Facts}
    facts=${[
      ["Id", withCopy(id), "long"],
      ["VIP", root.vip_address],
      ["Listeners", wordsOf(listeners)],
      ["Environment", hosting.shard ? `${hosting.shard.environment}, device group ${hosting.shard.group_number}` : `${root.provider}, not placed yet`],
      ["Project", html`<a href=${linkTo("loadbalancers", { project_id: root.project_id })}>${root.project_id}</a>`],
      ["Flavor", root.flavor_id || ""],
      ["Data path", hosting.data_path === "kernel" ? "kernel" : ""],
      ["Availability zone", root.availability_zone || ""],
      ["Provisioning", html`<${Status} value=${hosting.provisioning_status} /> ${hosting.status_reason}`],
      ["Operating", html`<${Status} value=${hosting.operating_status} /> ${hosting.operating_reason}`],
      ["Desired revision", hosting.revision],
      ["On the devices", `${hosting.applied_revision}${behind ? ` (${behind} behind)` : " (the same)"}`],
      ["Written by", hosting.acting ? html`<a href="#/agents/${hosting.acting.id}">${hosting.acting.host}</a>, epoch ${hosting.shard.epoch}` : "no agent"],
      ["Home", hosting.home ? html`<a href="#/agents/${hosting.home.id}">${hosting.home.host}</a>` : "none"],
      ["Before it in line", hosting.ahead || ""],
    ]}
  />`;
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
      ${state.plan && html`<${PlanView} plan=${state.plan} />`}
    </div>
    <${Also} command="evenkeel plan ${id}" path="${OPERATORS}/loadbalancers/${id}/plan" method="POST" />
  </section>`;
}

/** The newest change first: who asked for it, and who applied it. */
function History({ history, id }) {
  const rows = history.history || [];
  return html`<h2>History</h2>
    <${Failure} error=${history.refused} />
    ${history.history && !rows.length && html`<p class="empty">No revision is known: it was made before revisions were kept.</p>`}
    <ol class="timeline" aria-label="Revisions">
      ${rows.map((row) => html`<${Revision} key=${row.revision} row=${row} />`)}
    </ol>
    <${Also} command="evenkeel loadbalancer history ${id}" path="${OPERATORS}/loadbalancers/${id}/history" />`;
}

function Revision({ row }) {
  const [kind, mark] = row.applied_at ? ["good", "●"] : row.problem ? ["bad", "▲"] : ["other", "◌"];
  const agent = row.host && html`<a href="#/agents/${row.agent_id}">${row.host}</a>, epoch ${row.epoch}`;
  return html`<li class=${kind}>
    <span class="status ${kind}" aria-hidden="true">${mark}</span>
    <div>
      <p><strong>Revision ${row.revision}</strong> <time>${clock(row.accepted_at)}</time></p>
      <p>Asked for by ${who(row)}${row.request_id && html` <code>${row.request_id}</code>`}</p>
      ${row.applied_at
        ? html`<p>Applied by ${agent} <time>${clock(row.applied_at)}</time>, after ${row.seconds.toFixed(2)} s</p>`
        : row.problem
          ? html`<p>Failed${row.host && html`, tried by ${agent}`}: ${row.problem}</p>`
          : html`<p>Not on the devices yet</p>`}
    </div>
  </li>`;
}

function who(row) {
  if (!row.request_id) return "the controllers (certificate or network)";
  return `${row.user || "an unnamed user (no authentication)"}${row.project_id && ` (project ${short(row.project_id)})`}`;
}
