import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, short } from "../parts.js";
import { linkTo } from "../route.js";

const ROW = 34;
const X = { controller: 0, bus: 180, agent: 310, shard: 540, trunk: 715, device: 740 };
const TOLD_MS = 8000;
const WIDE = { controller: 150, bus: 100, agent: 170, device: 260 };
const WIDTH = X.device + WIDE.device + 2;

const read = async () => (await get(`${OPERATORS}/topology`)).topology;

export function Topology({ live }) {
  const { data, error } = useData(read, live.newest);
  return html`<h1>Topology</h1>
    <p>A line is a shard, one tenant on a device group: it goes from the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <ul class="key">
      <li><span class="owner"></span> may write</li>
      <li><span class="reach"></span> connected</li>
      <li><span class="cut"></span> away</li>
    </ul>
    <${Failure} error=${error} loading=${!data} />
    ${data && !data.groups.length && html`<p class="empty">No agent has registered yet.</p>`}
    ${data && data.groups.map((group) => html`<${Group} key="${group.environment}/${group.group_number}" group=${group} topology=${data} />`)}
    <${Also} command="evenkeel shard list" path="${OPERATORS}/topology" />`;
}

/** In the order of their agents, so that lines do not cross. */
export function linesOf(group) {
  const place = new Map(group.agents.map((agent, index) => [agent.id, index]));
  const at = (line) => place.get(line.agent) ?? place.size;
  return allLinesOf(group).sort((one, other) => at(one) - at(other) || one.key.localeCompare(other.key));
}

/** Lines from agents to devices: one for each shard, or for each agent where there are too many. */
function allLinesOf(group) {
  const { environment, group_number } = group;
  if (group.shards.length)
    return group.shards.map((shard) => ({
      key: shard.id,
      agent: shard.acting_agent_id,
      name: shard.project_id ? short(shard.project_id) : "common",
      epoch: shard.epoch,
      title: shard.project_id ? `project ${shard.project_id}` : "the common shard: what tenants of the group share",
      link: shard.project_id && linkTo("loadbalancers", { environment, group_number: String(group_number), project_id: shard.project_id }),
      text: `${shard.project_id ? short(shard.project_id) : "common"} · epoch ${shard.epoch}`,
      served: shard.served,
    }));
  const alive = new Set(group.agents.filter((agent) => agent.alive).map((agent) => agent.id));
  return group.lines.map((line) => ({
    key: line.agent_id || "none",
    agent: line.agent_id,
    text: `${line.shards} shards · epochs to ${line.newest_epoch}`,
    served: alive.has(line.agent_id),
  }));
}

/** Moves of lines in the last seconds, in words. */
function useMoves(group, lines) {
  const before = useRef(new Map());
  const [moves, setMoves] = useState([]);
  const state = lines.map((line) => `${line.key} ${line.agent} ${line.epoch}`).join(";");
  useEffect(() => {
    const seen = before.current;
    const moved = lines.filter((line) => line.name && line.agent && seen.has(line.key) && seen.get(line.key) !== line.agent);
    const words = moved.map((line) => `${line.name} moved from ${hostOf(group.agents, seen.get(line.key))} to ${hostOf(group.agents, line.agent)}, epoch ${line.epoch}`);
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

function Group({ group, topology }) {
  const lines = linesOf(group);
  const moves = useMoves(group, lines);
  const { agents, devices } = group;
  const { controllers } = topology;
  const rows = Math.max(agents.length, lines.length, devices.length, controllers.length, 1);
  const height = rows * ROW + 10;
  const y = (index, count) => ((index + 0.5) * height) / count;
  const agentY = new Map(agents.map((agent, index) => [agent.id, y(index, agents.length)]));
  const middle = height / 2;
  const broker = topology.message_broker === "connected";
  const name = `${group.environment}/${group.group_number}`;
  const summary = lines.map((line) => `${hostOf(agents, line.agent)}: ${line.text}`).join("; ");
  return html`<figure class="topology">
    <figcaption><h2>${name}</h2>${group.halted && html`<p class="failure">Halted: ${group.halted}. No shard moves.</p>`}<p class="moves" role="status">${moves.join("; ")}</p></figcaption>
    <div class="scroll" tabindex="0" role="region" aria-label="Topology of ${name}">
    <svg viewBox="0 0 ${WIDTH} ${height}" role="group" aria-label="Who may write to the devices of ${name}: ${summary || "no shards"}">
      ${controllers.map((one, index) => {
        const at = y(index, controllers.length);
        return html`<line class=${one.alive ? "link" : "link cut"} x1=${X.controller + WIDE.controller} y1=${at} x2=${X.bus} y2=${middle} />
          <${Box} x=${X.controller} at=${at} width=${WIDE.controller} state=${one.alive ? "up" : "silent"} text="controller :${one.url.split(":").pop()}" />`;
      })}
      ${agents.map(
        (agent) => html`<line class=${agent.alive ? "link" : "link cut"} x1=${X.bus + WIDE.bus} y1=${middle} x2=${X.agent} y2=${agentY.get(agent.id)} />
          <a href="#/agents/${agent.id}"><${Box} x=${X.agent} at=${agentY.get(agent.id)} width=${WIDE.agent} state=${agent.state} text="${agent.host} · ${agent.state}" /></a>`,
      )}
      <${Box} x=${X.bus} at=${middle} width=${WIDE.bus} state=${broker ? "up" : "silent"} text="message bus" />
      ${lines.map((line, index) => {
        const at = y(index, lines.length);
        const from = agentY.get(line.agent);
        const left = X.agent + WIDE.agent;
        return html`${from !== undefined &&
          html`<path class="owner ${line.served ? "" : "cut"}" d="M${left} ${from} C ${left + 40} ${from} ${X.shard - 40} ${at} ${X.shard} ${at}" />`}
          <${Shard} line=${line} at=${at} host=${hostOf(agents, line.agent)} />
          <path class="reach" d="M${X.shard + 155} ${at} H ${X.trunk}" />`;
      })}
      ${lines.length > 0 && devices.length > 0 && html`<path class="reach" d="M${X.trunk} ${Math.min(y(0, lines.length), y(0, devices.length))} V ${Math.max(y(lines.length - 1, lines.length), y(devices.length - 1, devices.length))}" />`}
      ${devices.map((device, index) => html`<path class=${device.reachable ? "reach" : "reach cut"} d="M${X.trunk} ${y(index, devices.length)} H ${X.device}" />`)}
      ${devices.map(
        (device, index) =>
          html`<${Box} x=${X.device} at=${y(index, devices.length)} width=${WIDE.device} state=${device.reachable ? "up" : "silent"} text="${device.own_name || device.name} · ${device.reachable ? device.failover_state || "reached" : "out of reach"}" />`,
      )}
    </svg>
    </div>
  </figure>`;
}

function Shard({ line, at, host }) {
  const text = html`<text class="shard" data-agent=${host} x=${X.shard + 6} y=${at + 4}><title>${line.title || ""}</title>${line.text}${host === NOBODY ? ` · ${NOBODY}` : ""}</text>`;
  return line.link ? html`<a href=${line.link}>${text}</a>` : text;
}

const NOBODY = "no agent";
const LETTER = 6.6; // width of a letter, about

function Box({ x, at, width, state, text }) {
  const most = Math.floor((width - 16) / LETTER);
  return html`<g class="box ${state}" transform="translate(${x} ${at - 13})">
    <title>${text}</title>
    <rect width=${width} height="26" rx="5" />
    <text x="8" y="17">${text.length > most ? `${text.slice(0, most - 1)}…` : text}</text>
  </g>`;
}

function hostOf(agents, id) {
  const found = agents.find((agent) => agent.id === id);
  return found ? found.host : NOBODY;
}
