import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { useData } from "../live.js";
import { Action, Also, Failure, Status, Table } from "../parts.js";

export function Environments({ live }) {
  const { data, error, again } = useData(async () => (await get(`${OPERATORS}/environments`)).environments, live.newest);
  const columns = [
    ["Name", (row) => row.name],
    ["Device driver", (row) => row.device_driver],
    ["Failback", (row) => row.failback],
    ["Circuit breaker", (row) => (row.halted ? html`<${Status} value="halted" /> ${row.halted}` : html`<${Status} value="closed" />`)],
    ["Opens at", (row) => `${row.breaker_agents} agents and ${Math.round(row.breaker_share * 100)} % silent`],
    ["Action", (row) => row.halted && html`<${Resume} row=${row} done=${again} />`],
  ];
  return html`<h1>Environments</h1>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Environments" columns=${columns} rows=${data} empty="There is no environment yet." />
    <${Also} command="evenkeel environment list" path="${OPERATORS}/environments" />`;
}

function Resume({ row, done }) {
  return html`<${Action}
    label="Resume"
    about=${row.name}
    command="evenkeel environment resume ${row.name}"
    question="Are the silent agents of ${row.name} lost for good? Their shards move to others."
    path="${OPERATORS}/environments/${row.name}/resume"
    done=${done}
  />`;
}
