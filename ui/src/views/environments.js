import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { Act, Actions, listOf, useMay } from "../acts.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table } from "../parts.js";
import { watches } from "../watches.js";
import { counted } from "../words.js";

const PATH = `${OPERATORS}/environments`;
const FAILBACK = [["auto", "automatically"], ["manual", "on request"], ["never", "never"]];
const NEW = { description: "", failback: "auto", breaker_share: 0.5, breaker_agents: 2, vip_networks_allowed: [], vip_networks_denied: [] };

export function Environments({ live }) {
  const { data, error, again } = useData(async () => (await get(PATH)).environments, live.newest);
  const may = useMay("environment_resume", "environment_update", "environment_delete");
  const columns = [
    ["Name", (row) => row.name],
    ["Device driver", (row) => row.device_driver],
    ["Failback", (row) => row.failback],
    ["Circuit breaker", (row) => (row.halted ? html`<${Status} value="halted" /> ${row.halted}` : html`<${Status} value="closed" />`)],
    ["Opens at", (row) => `${counted(row.breaker_agents, "agent")} and ${Math.round(row.breaker_share * 100)} % silent`],
    ["Description", (row) => row.description],
    ...(may ? [["Action", (row) => html`<${RowActs} row=${row} done=${again} />`]] : []),
  ];
  return html`<h1>Environments</h1>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Environments" columns=${columns} rows=${data} empty="There is no environment yet." />
    <${Actions} names=${["environment_create", "environment_resume"]}>
      <${Act}
        name="environment_create"
        label="Create environment"
        fields=${[
          { name: "name", label: "Name", required: true, help: "Letters, digits, - and _, at most 64." },
          { name: "device_driver", label: "Device driver", required: true, hint: "bigip or haproxy" },
          ...changeable(NEW),
        ]}
        body=${(values) => ({ environment: { name: values.name, device_driver: values.device_driver, ...changes(values) } })}
        command=${({ name, device_driver }) => `evenkeel environment create ${name} --device-driver ${device_driver}`}
        watch=${(answer) => watches.listed(PATH, "environments", { name: answer.environment.name }, "it is there")}
        done=${again}
      />
    <//>
    <${Also} command="evenkeel environment list" path=${PATH} />`;
}

const changeable = (row) => [
  { name: "description", label: "Description", initial: row.description },
  { name: "failback", label: "An agent that is up again gets its shards back", options: FAILBACK, initial: row.failback },
  { name: "breaker_share", label: "The breaker opens above this share of silent agents (0 to 1)", initial: String(row.breaker_share) },
  { name: "breaker_agents", label: "and at this number of silent agents at least", initial: String(row.breaker_agents) },
  { name: "vip_networks_allowed", label: "Networks and subnets of new VIPs (ids; empty: all)", kind: "lines", initial: row.vip_networks_allowed.join("\n") },
  { name: "vip_networks_denied", label: "Networks and subnets that no new VIP may be on (ids)", kind: "lines", initial: row.vip_networks_denied.join("\n") },
];

const changes = (values) => ({
  description: values.description,
  failback: values.failback,
  breaker_share: Number(values.breaker_share),
  breaker_agents: Number(values.breaker_agents),
  vip_networks_allowed: listOf(values.vip_networks_allowed),
  vip_networks_denied: listOf(values.vip_networks_denied),
});

function RowActs({ row, done }) {
  const params = { name: row.name };
  return html`<div class="actions">
    ${Boolean(row.halted) && // an empty text is a child too, and the next button would take the place of this one
    html`<${Act}
      name="environment_resume"
      label="Resume"
      about=${row.name}
      params=${params}
      facts=${`${row.halted}. Are these agents lost for good?`}
      command=${() => `evenkeel environment resume ${row.name}`}
      watch=${() => watches.resumed(row.name)}
      done=${done}
    />`}
    <${Act}
      name="environment_update"
      label="Change"
      about=${row.name}
      params=${params}
      fields=${changeable(row)}
      body=${(values) => ({ environment: changes(values) })}
      command=${(values) => `evenkeel environment set ${row.name} --failback ${values.failback} --breaker-share ${values.breaker_share} --breaker-agents ${values.breaker_agents}`}
      watch=${({ environment: { failback, description, breaker_agents } }) =>
        watches.listed(PATH, "environments", { name: row.name, failback, description, breaker_agents }, `failback ${failback}, the breaker opens at ${counted(breaker_agents, "agent")}`)}
      done=${done}
    />
    <${Act} name="environment_delete" label="Delete" about=${row.name} params=${params} command=${() => `evenkeel environment delete ${row.name}`} watch=${() => watches.gone(`${PATH}/${row.name}`)} done=${done} />
  </div>`;
}
