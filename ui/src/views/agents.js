import { html } from "htm/preact";
import { OPERATORS, get, orRefused } from "../api.js";
import { Actions, useMay } from "../acts.js";
import { useData } from "../live.js";
import { Also, Facts, Failure, Status, Table, age, seconds, short } from "../parts.js";
import { AgentActs, Drain, ShardActs, agentsOf } from "../agentacts.js";

const SHOWN = 50;
const place = (agent) => `${agent.environment}/${agent.group_number}`;
/** Of a silent agent nobody knows what it reaches. */
const inReach = (agent) => (agent.alive ? `${agent.devices.filter((device) => device.reachable).length} of ${agent.devices.length}` : "not known");

export function Agents({ live }) {
  const { data, error, at, again } = useData(async () => (await get(`${OPERATORS}/agents`)).agents, live.newest);
  const may = useMay("agent_drain");
  const columns = [
    ["Host", (agent) => html`<a href="#/agents/${agent.id}">${agent.host}</a>`],
    ["Device group", place],
    ["State", (agent) => html`<${Status} value=${agent.state} />`],
    ["Lease", (agent) => lease(agent, at)],
    ["Last report", (agent) => age(agent.reported_at)],
    ["Shards", (agent) => agent.acting_shards],
    ["At home", (agent) => agent.home_shards],
    ["Queue", (agent) => agent.queue_depth],
    ["Devices in reach", inReach],
    ["Shards wait because", (agent) => agent.waiting_reason || agent.away_reason],
    ...(may ? [["Action", (agent) => html`<${Drain} agent=${agent} done=${again} />`]] : []),
  ];
  return html`<h1>Agents</h1>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Agents" columns=${columns} rows=${data} empty="No agent has registered yet. evenkeel-agent on a host that reaches the devices does." />
    <${Actions} names=${["agent_drain"]} />
    <${Also} command="evenkeel agent list" path="${OPERATORS}/agents" />`;
}

/** Of its session at the time of reading: it is renewed every second. */
function lease(agent, at) {
  if (agent.alive && agent.session_expires_at) return `${seconds(Date.parse(`${agent.session_expires_at}Z`) - at)} left`;
  return agent.silent_since ? `silent for ${age(agent.silent_since)}` : "none";
}

export function Agent({ id, live }) {
  async function read() {
    const [agent, shards, balancers] = await Promise.all([
      get(`${OPERATORS}/agents/${id}`),
      get(`${OPERATORS}/shards?agent_id=${id}`),
      orRefused(get(`${OPERATORS}/agents/${id}/loadbalancers?limit=${SHOWN}`)),
    ]);
    const { environment, group_number } = agent.agent;
    return { agent: agent.agent, group: await agentsOf(environment, group_number), shards: shards.shards.filter((shard) => shard.project_id), balancers };
  }
  const { data, error, at, again } = useData(read, live.newest, [id]);
  const mayMove = useMay("shard_rebind", "shard_adopt");
  const agent = data && data.agent;
  return html`<p><a href="#/agents">All agents</a></p>
    <h1>${agent ? agent.host : short(id)}</h1>
    <${Failure} error=${error} loading=${!data} />
    ${agent &&
    html`<${Facts}
        facts=${[
          ["State", html`<${Status} value=${agent.state} />`],
          ["Device group", place(agent)],
          ["Lease", lease(agent, at)],
          ["Last report", age(agent.reported_at)],
          ["Shards that it acts for", agent.acting_shards],
          ["Shards whose home it is", agent.home_shards],
          ["Queue", agent.queue_depth],
          ["Devices in reach", inReach(agent)],
          ["Why shards wait", agent.waiting_reason || agent.away_reason],
          ["Device driver", agent.device_driver],
        ]}
      />
      <${AgentActs} agent=${agent} others=${data.group.filter((other) => other.id !== id)} done=${again} />
      <h2>Devices as it sees them</h2>
      <${Table}
        caption="Devices"
        columns=${[
          ["Device", (device) => device.own_name || device.name],
          ["Address", (device) => device.name],
          ["Reached", (device) => html`<${Status} value=${device.reachable === null ? "not known" : device.reachable ? "reached" : "out of reach"} />`],
          ["Failover", (device) => device.failover_state],
          ["Config sync", (device) => device.sync_state],
          ["Version", (device) => device.version],
          ["Problem", (device) => device.problem],
        ]}
        rows=${agent.devices}
        empty="It has not reported a device yet."
      />
      <h2>Shards</h2>
      <${Table}
        caption="Shards"
        columns=${[
          ["Tenant", (shard) => html`<span title=${shard.project_id}>${short(shard.project_id)}</span>`],
          ["Epoch", (shard) => shard.epoch],
          ["It is", (shard) => roles(shard, id)],
          ["Served", (shard) => html`<${Status} value=${shard.served ? "served" : "unserved"} />`],
          ...(mayMove ? [["Action", (shard) => html`<${ShardActs} shard=${shard} agents=${data.group} driver=${agent.device_driver} done=${again} />`]] : []),
        ]}
        rows=${data.shards.slice(0, SHOWN)}
        empty="It has no tenant."
      />
      ${data.shards.length > SHOWN && html`<p>${data.shards.length - SHOWN} more: <code>evenkeel shard list --agent ${agent.host}</code></p>`}
      <h2>Load balancers</h2>
      <${Failure} error=${data.balancers.refused} />
      <${Table}
        caption="Load balancers"
        columns=${[
          ["Name", (row) => html`<a href="#/loadbalancers/${row.id}">${row.name || short(row.id)}</a>`],
          ["VIP", (row) => row.vip_address],
          ["Provisioning", (row) => html`<${Status} value=${row.provisioning_status} />`],
          ["Operating", (row) => html`<${Status} value=${row.operating_status} />`],
        ]}
        rows=${data.balancers.loadbalancers}
        empty="None."
      />`}
    <${Also} command="evenkeel agent show ${agent ? agent.host : id}" path="${OPERATORS}/agents/${id}" />`;
}

function roles(shard, id) {
  const found = [];
  if (shard.acting_agent_id === id) found.push("acting agent");
  if (shard.home_agent_id === id) found.push("home");
  return found.join(", ");
}
