import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Action, Also, Failure, Status, Table, age } from "../parts.js";

const place = (agent) => `${agent.environment}/${agent.group_number}`;

export function Agents({ live }) {
  const { data, error, again } = useData(async () => (await get(`${OPERATORS}/agents`)).agents, live.newest);
  const columns = [
    ["Host", (agent) => agent.host],
    ["Device group", place],
    ["State", (agent) => html`<${Status} value=${agent.state} />`],
    ["Session expires", (agent) => (agent.alive ? remaining(agent.session_expires_at) : age(agent.silent_since) && `silent for ${age(agent.silent_since)}`)],
    ["Shards", (agent) => agent.acting_shards],
    ["At home", (agent) => agent.home_shards],
    ["Queue", (agent) => agent.queue_depth],
    ["Devices in reach", (agent) => `${agent.devices.filter((device) => device.reachable).length} of ${agent.devices.length}`],
    ["Why not", (agent) => agent.waiting_reason || agent.away_reason],
    ["", (agent) => html`<${Drain} agent=${agent} done=${again} />`],
  ];
  return html`<h1>Agents</h1>
    <${Failure} error=${error} />
    <${Table} caption="Agents" columns=${columns} rows=${data} empty="No agent has registered yet." />
    <${Also} command="evenkeel agent list" path="${OPERATORS}/agents" />`;
}

function remaining(text) {
  const seconds = (Date.parse(`${text}Z`) - Date.now()) / 1000;
  return `in ${Math.max(0, seconds).toFixed(1)} s`;
}

function Drain({ agent, done }) {
  const drain = agent.admin_state_up;
  return html`<${Action}
    label=${drain ? "Drain" : "Undrain"}
    question=${drain
      ? `Drain ${agent.host}? Its ${agent.acting_shards} shards are handed over to other agents, and it gets no new ones.`
      : `Put ${agent.host} back into service? Its shards come home.`}
    path="${OPERATORS}/agents/${agent.id}/${drain ? "drain" : "undrain"}"
    done=${done}
  />`;
}
