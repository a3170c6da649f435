import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, short } from "../parts.js";

const ROW = 34;
const X = { controller: 0, bus: 180, agent: 310, shard: 540, device: 740 };
const WIDE = { controller: 150, bus: 100, agent: 170, device: 260 };
const WIDTH = X.device + WIDE.device + 2;

const read = async () => (await get(`${OPERATORS}/topology`)).topology;

export function Topology({ live }) {
  const { data, error } = useData(read, live.newest);
  return html`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${Failure} error=${error} loading=${!data} />
    ${data && !data.groups.length && html`<p class="empty">No agent has registered yet.</p>`}
    ${data && data.groups.map((group) => html`<${Group} key="${group.environment}/${group.group_number}" group=${group} topology=${data} />`)}
    <${Also} command="evenkeel shard list" path="${OPERATORS}/topology" />`;
}

/** Lines from agents to devices: one for each shard, or for each agent where there are too many. */
export function linesOf(group) {
  if (group.shards.length)
    return group.shards.map((shard) => ({
      key: shard.id,
      agent: shard.acting_agent_id,
      text: `${short(shard.project_id)} · epoch ${shard.epoch}`,
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

function Group({ group, topology }) {
  const lines = linesOf(group);
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
    <figcaption><h2>${name}</h2>${group.halted && html`<p class="failure">Halted: ${group.halted}. No shard moves.</p>`}</figcaption>
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
          <text class="shard" data-agent=${hostOf(agents, line.agent)} x=${X.shard + 6} y=${at + 4}>${line.text}${from === undefined ? " · no agent" : ""}</text>
          ${devices.map((device, number) => {
            const to = y(number, devices.length);
            return html`<path class="reach" d="M${X.shard + 155} ${at} C ${X.device - 30} ${at} ${X.device - 30} ${to} ${X.device} ${to}" />`;
          })}`;
      })}
      ${devices.map(
        (device, index) =>
          html`<${Box} x=${X.device} at=${y(index, devices.length)} width=${WIDE.device} state=${device.reachable ? "up" : "silent"} text="${device.own_name || device.name} · ${device.reachable ? device.failover_state || "reached" : "out of reach"}" />`,
      )}
    </svg>
    </div>
  </figure>`;
}

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
  return found ? found.host : "no agent";
}
