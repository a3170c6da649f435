import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, short } from "../parts.js";

const ROW = 34;
const LINES_MAX = 40; // of one device group; more are drawn as one line per agent

async function read() {
  const [agents, shards, status] = await Promise.all([
    get(`${OPERATORS}/agents`),
    get(`${OPERATORS}/shards`),
    get(`${OPERATORS}/status`),
  ]);
  return { agents: agents.agents, shards: shards.shards, broker: status.status.message_broker };
}

export function Topology({ live }) {
  const { data, error } = useData(read, live.newest);
  return html`<h1>Topology</h1>
    <p>A line is a shard: the agent that may write to the devices, with its epoch. At a takeover the line moves and the epoch grows.</p>
    <${Failure} error=${error} />
    ${data && groupsOf(data).map((group) => html`<${Group} key=${group.name} group=${group} broker=${data.broker} />`)}
    <${Also} command="evenkeel shard list" path="${OPERATORS}/shards" />`;
}

/** Device groups with their agents, devices and shards. */
export function groupsOf({ agents, shards }) {
  const groups = new Map();
  for (const agent of agents) {
    const name = `${agent.environment}/${agent.group_number}`;
    if (!groups.has(name)) groups.set(name, { name, agents: [], shards: [], devices: new Map() });
    const group = groups.get(name);
    group.agents.push(agent);
    for (const device of agent.devices) {
      const known = group.devices.get(device.name);
      if (!known || device.reachable) group.devices.set(device.name, device);
    }
  }
  for (const shard of shards) {
    const group = groups.get(`${shard.environment}/${shard.group_number}`);
    if (group && shard.project_id) group.shards.push(shard);
  }
  return [...groups.values()].sort((one, other) => one.name.localeCompare(other.name));
}

/** Lines from agents to devices: one for each shard, or for each agent if there are too many. */
export function linesOf(group) {
  if (group.shards.length <= LINES_MAX)
    return group.shards.map((shard) => ({
      key: shard.id,
      agent: shard.acting_agent_id,
      text: `${short(shard.project_id)} · epoch ${shard.epoch}`,
      served: shard.served,
    }));
  const counts = new Map();
  for (const shard of group.shards) {
    const was = counts.get(shard.acting_agent_id) || { count: 0, epoch: 0, served: true };
    counts.set(shard.acting_agent_id, {
      count: was.count + 1,
      epoch: Math.max(was.epoch, shard.epoch),
      served: was.served && shard.served,
    });
  }
  return [...counts].map(([agent, { count, epoch, served }]) => ({
    key: agent || "none",
    agent,
    text: `${count} shards · epochs to ${epoch}`,
    served,
  }));
}

function Group({ group, broker }) {
  const lines = linesOf(group);
  const devices = [...group.devices.values()];
  const rows = Math.max(group.agents.length + 1, lines.length, devices.length, 1);
  const height = rows * ROW + 10;
  const y = (index, count) => ((index + 0.5) * height) / count;
  const agentY = new Map(group.agents.map((agent, index) => [agent.id, y(index, group.agents.length)]));
  const middle = height / 2;
  const summary = lines.map((line) => `${hostOf(group, line.agent)}: ${line.text}`).join("; ");
  return html`<figure class="topology">
    <figcaption><h2>${group.name}</h2></figcaption>
    <svg viewBox="0 0 940 ${height}" role="img" aria-label="Who may write to the devices of ${group.name}: ${summary || "no shards"}">
      ${group.agents.map(
        (agent) => html`<line class=${agent.alive ? "link" : "link cut"} x1="110" y1=${middle} x2="190" y2=${agentY.get(agent.id)} />
          <g class="box ${agent.state}" transform="translate(190 ${agentY.get(agent.id) - 13})">
            <rect width="170" height="26" rx="5" />
            <text x="8" y="17">${agent.host} · ${agent.state}</text>
          </g>`,
      )}
      <g class="box ${broker === "connected" ? "up" : "silent"}" transform="translate(0 ${middle - 13})">
        <rect width="110" height="26" rx="5" />
        <text x="8" y="17">message bus</text>
      </g>
      ${lines.map((line, index) => {
        const at = y(index, lines.length);
        const from = agentY.get(line.agent);
        return html`${from !== undefined &&
          html`<path class="owner ${line.served ? "" : "cut"}" d="M360 ${from} C 420 ${from} 420 ${at} 470 ${at}" />`}
          <text class="shard" x="476" y=${at + 4}>${line.text}${from === undefined ? " · no agent" : ""}</text>
          ${devices.map((device, number) => html`<path class="reach" d="M640 ${at} C 680 ${at} 680 ${y(number, devices.length)} 720 ${y(number, devices.length)}" />`)}`;
      })}
      ${devices.map(
        (device, index) => html`<g class="box ${device.reachable ? "up" : "silent"}" transform="translate(720 ${y(index, devices.length) - 13})">
          <rect width="218" height="26" rx="5" />
          <text x="8" y="17">${device.name}${device.failover_state ? ` · ${device.failover_state}` : ""}</text>
        </g>`,
      )}
    </svg>
  </figure>`;
}

function hostOf(group, id) {
  const found = group.agents.find((agent) => agent.id === id);
  return found ? found.host : "no agent";
}
