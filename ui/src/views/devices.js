import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table, age } from "../parts.js";

const read = async () => (await get(`${OPERATORS}/topology`)).topology;

/** In the order of the names that are shown. */
export const byName = (devices) => [...devices].sort((one, other) => (one.own_name || one.name).localeCompare(other.own_name || other.name, "en", { numeric: true }));

export function Devices({ live }) {
  const { data, error } = useData(read, live.newest);
  const rows =
    data &&
    data.groups.flatMap((group) =>
      byName(group.devices).map((device) => ({ ...device, id: `${group.environment}/${group.group_number}/${device.name}`, group })),
    );
  const columns = [
    ["Device", (row) => row.own_name || row.name],
    ["Address", (row) => row.name],
    ["Device group", (row) => `${row.group.environment}/${row.group.group_number}`],
    ["Type", (row) => row.group.device_driver],
    ["State", (row) => html`<${Status} value=${row.reachable ? "reached" : "out of reach"} />`],
    ["Failover", (row) => row.failover_state],
    ["Config sync", (row) => row.sync_state],
    ["Version", (row) => row.version],
    ["Reached by", (row) => row.reached_by.join(", ")],
    ["Not reached by", (row) => row.missed_by.join(", ")],
    ["Problem", (row) => row.problem],
  ];
  return html`<h1>Devices</h1>
    <p>As reported by the agents of their device group; where reports differ, by one that reaches the device.</p>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Devices" columns=${columns} rows=${rows} empty="No agent has reported a device yet." />
    <${Also} command="evenkeel device list" path="${OPERATORS}/topology" />`;
}

export function Controllers({ live }) {
  const { data, error } = useData(async () => (await get(`${OPERATORS}/controllers`)).controllers, live.newest);
  const columns = [
    ["URL", (row) => row.url],
    ["Host", (row) => row.host],
    ["State", (row) => html`<${Status} value=${row.alive ? "up" : "silent"} />`],
    ["Message broker", (row) => html`<${Status} value=${row.message_broker === "connected" ? "connected" : "out of reach"} /> ${row.message_broker === "connected" ? "" : row.message_broker}`],
    ["Version", (row) => row.version],
    ["Up for", (row) => (row.alive ? age(row.started_at) : "")],
    ["Seen", (row) => `${age(row.seen_at)} ago`],
  ];
  return html`<h1>Controllers</h1>
    <p>They are all alike and keep nothing: any of them may end. A silent one is listed for ten minutes.</p>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Controllers" columns=${columns} rows=${data} empty="None has been seen yet." />
    <${Also} command="evenkeel controller list" path="${OPERATORS}/controllers" />`;
}
