import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, short } from "../parts.js";
import { byName } from "./devices.js";
import { linkTo } from "../route.js";
import { fitted, layoutOf } from "../topology_layout.js";
import { useWidth } from "../width.js";

const TOLD_MS = 20000;
const LINES_MAX = 400; // of an opened group
const NOBODY = "no agent";

const read = async () => (await get(`${OPERATORS}/topology`)).topology;

export function Topology({ live, query }) {
  const { data, error } = useData(read, live.newest);
  return html`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write, for a tenant</li>
      <li><span class="owner common"></span> may write what tenants share</li>
      <li><span></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${Failure} error=${error} loading=${!data} />
    ${data && !data.groups.length && html`<p class="empty">No agent has registered yet.</p>`}
    ${data && data.groups.map((group) => html`<${Group} key=${nameOf(group)} group=${group} topology=${data} opened=${opened(query)} turn=${live.newest} events=${live.events} />`)}
    <${Also} command="evenkeel shard list" path="${OPERATORS}/topology" />`;
}

const nameOf = (group) => `${group.environment}/${group.group_number}`;

/** Device groups with many tenants whose lines are shown one by one. */
const opened = (query) => (query.open || "").split(",").filter(Boolean);

const isCommon = (shard) => !shard.project_id;

/** Whether the group has more tenants than are shown unasked. */
const isLarge = (group) => group.lines.length > 0 && group.shards.every(isCommon);

/** All shards of a large group: those that its agents act for or are home to. */
async function shardsOf(group) {
  const found = await Promise.all(group.agents.map((agent) => get(`${OPERATORS}/shards?agent_id=${agent.id}`)));
  const shards = found.flatMap((each) => each.shards);
  return [...new Map(shards.map((shard) => [shard.id, shard])).values()];
}

/** Lines of single shards. `texts`: the longest first, of which one is shown that fits. */
function linesOfShards(shards, { environment, group_number }) {
  return shards.map((shard) => {
    const tenant = shard.project_id || "common";
    const epoch = `epoch ${shard.epoch}`;
    return {
      key: shard.id,
      agent: shard.acting_agent_id,
      project: shard.project_id,
      name: isCommon(shard) ? "the common shard" : short(tenant),
      common: isCommon(shard),
      epoch: shard.epoch,
      texts: [`${tenant} · ${epoch}`, `${short(tenant)} · ${epoch}`],
      told: `${isCommon(shard) ? "What tenants share" : `Project ${tenant}`}: ${epoch}`,
      link: isCommon(shard)
        ? shard.acting_agent_id && `#/agents/${shard.acting_agent_id}`
        : linkTo("loadbalancers", { environment, group_number: String(group_number), project_id: shard.project_id }),
      served: shard.served,
    };
  });
}

/** A line for all tenants of each agent. */
function linesOfAgents(group) {
  const alive = new Set(group.agents.filter((agent) => agent.alive).map((agent) => agent.id));
  return group.lines.map((line) => {
    const count = `${line.shards.toLocaleString("en")} ${line.shards === 1 ? "tenant" : "tenants"}`;
    return {
      key: line.agent_id || "none",
      agent: line.agent_id,
      texts: [`${count} · epochs to ${line.newest_epoch}`, count],
      told: `${count}, epochs to ${line.newest_epoch}`,
      link: line.agent_id && `#/agents/${line.agent_id}`,
      served: alive.has(line.agent_id),
    };
  });
}

/** In the order of their agents; of each agent the common shard first. */
function ordered(lines, agents) {
  const place = new Map(agents.map((agent, index) => [agent.id, index]));
  const at = (line) => place.get(line.agent) ?? place.size;
  return lines.sort((one, other) => at(one) - at(other) || Number(Boolean(other.common)) - Number(Boolean(one.common)) || one.key.localeCompare(other.key));
}

const REASONS = { shard_taken_over: ": taken over, because its agent is gone", shard_handed_over: ": handed over as planned" };

/** Why a line has this epoch, by the event that tells; empty: it is not among the last ones. */
function reasonOf(line, events) {
  const subject = line.project ? `project ${line.project} ` : "common shard ";
  const found = events.find((event) => REASONS[event.kind] && event.text.includes(subject) && event.text.endsWith(`, epoch ${line.epoch}`));
  return found ? REASONS[found.kind] : "";
}

/** Moves of lines in the last seconds, in words. */
function useMoves(group, lines, events) {
  const before = useRef(new Map());
  const [moves, setMoves] = useState([]);
  const state = lines.map((line) => `${line.key} ${line.agent} ${line.epoch}`).join(";");
  useEffect(() => {
    const seen = before.current;
    const moved = lines.filter((line) => line.name && line.agent && seen.has(line.key) && seen.get(line.key) !== line.agent);
    const words = moved.map((line) => `${line.name} moved from ${hostOf(group.agents, seen.get(line.key))} to ${hostOf(group.agents, line.agent)}, epoch ${line.epoch}${reasonOf(line, events)}`);
    // a line without an agent keeps its last one, from which it moves then
    before.current = new Map(lines.map((line) => [line.key, line.agent || seen.get(line.key)]));
    if (words.length) setMoves(words);
  }, [state]);
  useEffect(() => {
    if (!moves.length) return undefined;
    const timer = setTimeout(() => setMoves([]), TOLD_MS);
    return () => clearTimeout(timer);
  }, [moves]);
  return moves;
}

function Group({ group, topology, opened: open, turn, events }) {
  const name = nameOf(group);
  const isOpen = isLarge(group) && open.includes(name);
  const { data: shards, error } = useData(async () => (isOpen ? shardsOf(group) : null), turn, [isOpen]);
  const single = isOpen && shards ? shards : group.shards;
  const all = ordered([...linesOfShards(single, group), ...(isLarge(group) && single === group.shards ? linesOfAgents(group) : [])], group.agents);
  const lines = all.slice(0, LINES_MAX);
  const moves = useMoves(group, all, events);
  const [place, width] = useWidth();
  const [pointed, setPointed] = useState(null);
  const { agents } = group;
  const devices = byName(group.devices);
  const { controllers } = topology;
  const layout = layoutOf({ controllers, agents, devices, lines }, width);
  const tenants = group.lines.reduce((sum, line) => sum + line.shards, 0);
  const summary = lines.map((line) => `${hostOf(agents, line.agent)}: ${line.texts[0]}`).join("; ");
  /** Of what is pointed at: an agent's lines, or the one line. */
  const isLit = (line) => pointed !== null && (pointed.key === line.key || pointed.agent === line.agent);
  const pointing = (what) => ({ onPointerEnter: () => setPointed(what), onPointerLeave: () => setPointed(null), onFocus: () => setPointed(what), onBlur: () => setPointed(null) });
  const look = (line) => (pointed === null ? "" : isLit(line) ? "lit" : "faded");
  return html`<figure class="topology" ref=${place}>
    <figcaption>
      <h2>${name}</h2>
      ${isLarge(group) && html`<a class="fold" aria-expanded=${String(isOpen)} role="button" href=${linkTo("topology", { open: (isOpen ? open.filter((each) => each !== name) : [...open, name]).join(",") })}>${isOpen ? "Fold" : `Show all ${tenants.toLocaleString("en")} tenants`}</a>`}
      <p class="read">${pointed ? pointed.told : ""}</p>
      ${Boolean(group.halted) && html`<p class="failure">Halted: ${group.halted}. No shard moves.</p>`}
      <p class="moves" role="status">${moves.join("; ")}</p>
    </figcaption>
    <${Failure} error=${error} />
    <svg viewBox="0 0 ${width} ${layout.height}" width=${width} height=${layout.height} role="group" aria-label="Who may write to the devices of ${name}: ${summary || "no shards"}">
      <rect class="frame" rx="8" ...${layout.frame} />
      ${layout.links.map((link) => html`<path class=${link.cut ? "link cut" : "link"} d=${link.d} />`)}
      ${layout.lines.map(({ line, d }) => html`<path key=${line.key} class="owner ${line.common ? "common" : ""} ${line.served ? "" : "cut"} ${look(line)}" d=${d} />`)}
      ${layout.lines.map(({ line, x, y, text }) => {
        const host = hostOf(agents, line.agent);
        const told = `${line.told}, ${host} ${line.served ? "may write" : "is away"}`;
        return html`<${Shard} key=${line.key} line=${line} x=${x} y=${y} text=${host === NOBODY ? `${text} · ${NOBODY}` : text} host=${host} look=${look(line)} pointing=${pointing({ key: line.key, told })} />`;
      })}
      ${layout.boxes.map((box) => html`<${Part} key=${keyOf(box)} box=${box} topology=${topology} pointing=${box.kind === "agent" ? pointing({ agent: box.object.id, told: `${box.object.host}: ${box.object.acting_shards} shards` }) : {}} />`)}
    </svg>
    ${all.length > LINES_MAX && html`<p>${all.length - LINES_MAX} more: <code>evenkeel shard list --environment ${group.environment}</code></p>`}
  </figure>`;
}

function Shard({ line, x, y, text, host, look, pointing }) {
  // with a transform, so that it moves with its line
  const words = html`<text class="shard ${line.common ? "common" : "tenant"} ${look}" data-agent=${host} style=${{ transform: `translate(${x}px, ${y}px)` }}><title>${line.told}</title>${text}</text>`;
  return line.link ? html`<a href=${line.link} ...${pointing}>${words}</a>` : html`<g ...${pointing}>${words}</g>`;
}

const keyOf = ({ kind, object }) => (object ? `${kind} ${object.id || object.url || object.name}` : kind);

const VIEWS = { controller: () => "#/controllers", agent: (agent) => `#/agents/${agent.id}`, device: () => "#/devices" };

/** A controller, the message bus, an agent or a device. */
function Part({ box, topology, pointing }) {
  const [state, text] = stateOf(box, topology);
  const view = VIEWS[box.kind];
  const drawn = html`<g class="box ${state}" transform="translate(${box.x} ${box.y})">
    <title>${text}</title>
    <rect width=${box.width} height=${box.height} rx="6" />
    ${box.upright
      ? html`<text text-anchor="middle" transform="translate(${box.width / 2 + 4} ${box.height / 2}) rotate(-90)">${text}</text>`
      : html`<text x="10" y=${box.height / 2 + 4}>${fitted(text, box.width - 18)}</text>`}
  </g>`;
  return view ? html`<a href=${view(box.object)} ...${pointing}>${drawn}</a>` : drawn;
}

function stateOf({ kind, object }, topology) {
  if (kind === "bus") return [topology.message_broker === "connected" ? "up" : "silent", "message bus"];
  if (kind === "controller") return [object.alive ? "up" : "silent", controllerName(object.url)];
  if (kind === "agent") return [object.state, `${object.host} · ${object.state}`];
  return [object.reachable ? "up" : "silent", `${object.own_name || object.name} · ${object.reachable ? object.failover_state || "reached" : "out of reach"}`];
}

/** Its port, and its host unless that is where everything is. */
function controllerName(url) {
  const { hostname, port } = new URL(url);
  return ["127.0.0.1", "localhost", "[::1]"].includes(hostname) ? `controller :${port}` : `${hostname}:${port}`;
}

function hostOf(agents, id) {
  const found = agents.find((agent) => agent.id === id);
  return found ? found.host : NOBODY;
}
