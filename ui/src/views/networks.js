// Address pools, and declared networks.
import { html } from "htm/preact";
import { OPERATORS, get, orRefused } from "../api.js";
import { Act, Actions, given, listOf } from "../acts.js";
import { useData } from "../live.js";
import { Also, Failure, Table } from "../parts.js";
import { watches } from "../watches.js";

const SUBNETS = `${OPERATORS}/subnets`;
const NETWORKS = `${OPERATORS}/networks`;
const TYPES = ["vlan", "vxlan", "gre", "flat"].map((type) => [type, type]);
const ADDRESSES = "Addresses, or ranges like 10.0.0.1-10.0.0.9, one a line";

export function Networks({ live }) {
  async function read() {
    const [subnets, networks] = await Promise.all([orRefused(get(SUBNETS)), orRefused(get(NETWORKS))]);
    return { subnets, networks };
  }
  const { data, error, again } = useData(read, live.newest);
  return html`<h1>Networks</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Subnets} found=${data.subnets} done=${again} /><${Declared} found=${data.networks} done=${again} />`}`;
}

function Subnets({ found, done }) {
  const columns = [
    ["Name", (row) => row.name],
    ["CIDR", (row) => html`<code>${row.cidr}</code>`],
    ["VIPs from", (row) => `${row.allocation_start} to ${row.allocation_end}`],
    ["Gateway", (row) => row.gateway_ip || "none"],
    ["Never VIPs", (row) => row.reserved.join(", ")],
    ["For devices", (row) => row.device_addresses.join(", ")],
    ["Project", (row) => row.project_id || "all"],
    ["Action", (row) => html`<div class="actions">
      <${Act}
        name="subnet_update"
        label="Change"
        about=${row.name}
        params=${{ id: row.id }}
        fields=${[{ name: "addresses", label: "Addresses for devices", kind: "lines", help: ADDRESSES, initial: row.device_addresses.join("\n") }]}
        body=${({ addresses }) => ({ subnet: { device_addresses: listOf(addresses) } })}
        command=${({ addresses }) => `evenkeel subnet set ${row.name}${listOf(addresses).map((each) => ` --device-addresses ${each}`).join("")}`}
        watch=${({ subnet: { id, device_addresses } }) => watches.listed(SUBNETS, "subnets", { id, device_addresses }, `devices may have ${device_addresses.join(", ") || "none"}`)}
        done=${done}
      />
      <${Act} name="subnet_delete" label="Delete" about=${row.name} params=${{ id: row.id }} command=${() => `evenkeel subnet delete ${row.name}`} watch=${() => watches.unlisted(SUBNETS, "subnets", { id: row.id })} done=${done} />
    </div>`],
  ];
  return html`<h2>Address pools</h2>
    <${Failure} error=${found.refused} />
    <${Table} caption="Address pools" columns=${columns} rows=${found.subnets} empty="There is none: VIPs have no addresses yet." />
    ${!found.refused &&
    html`<${Actions} names=${["subnet_create"]}>
      <${Act}
        name="subnet_create"
        label="Create address pool"
        fields=${[
          { name: "name", label: "Name", required: true },
          { name: "cidr", label: "CIDR", required: true, hint: "10.0.0.0/24" },
          { name: "network_id", label: "Network (id)" },
          { name: "gateway_ip", label: "Gateway" },
          { name: "allocation_start", label: "First address of VIPs" },
          { name: "allocation_end", label: "Last address of VIPs" },
          { name: "reserved", label: "Never VIPs", kind: "lines", help: ADDRESSES },
          { name: "device_addresses", label: "For devices", kind: "lines", help: ADDRESSES },
          { name: "project_id", label: "Only for this project (id)" },
        ]}
        body=${({ reserved, device_addresses, ...values }) => ({ subnet: { ...given(values), ...lists({ reserved, device_addresses }) } })}
        command=${({ name, cidr }) => `evenkeel subnet create ${name} --cidr ${cidr}`}
        watch=${({ subnet: { id, allocation_start, allocation_end } }) => watches.listed(SUBNETS, "subnets", { id }, `VIPs from ${allocation_start} to ${allocation_end}`)}
        done=${done}
      />
    <//>`}
    <${Also} command="evenkeel subnet list" path=${SUBNETS} />`;
}

const lists = (values) => Object.fromEntries(Object.entries(values).map(([name, text]) => [name, listOf(text)]).filter(([, list]) => list.length));

const networkFields = (row = {}) => [
  { name: "name", label: "Name", required: true, initial: row.name || "" },
  { name: "physical_network", label: "Physical network (flat, vlan)", initial: row.physical_network || "" },
  { name: "segmentation_id", label: "VLAN id, VNI or GRE key", initial: String(row.segmentation_id ?? "") },
  { name: "mtu", label: "MTU in bytes (empty: the device's)", initial: String(row.mtu ?? "") },
  { name: "vteps", label: "Tunnel end points of hosts, one a line", kind: "lines", initial: (row.vteps || []).join("\n") },
  { name: "shared", label: "Used by several projects", kind: "checkbox", initial: row.shared || false },
  { name: "external", label: "An external network", kind: "checkbox", initial: row.external || false },
];

function networkOf({ segmentation_id, mtu, vteps, shared, external, ...values }) {
  const numbers = Object.fromEntries(Object.entries(given({ segmentation_id, mtu })).map(([name, text]) => [name, Number(text)]));
  return { ...given(values), ...numbers, vteps: listOf(vteps), shared, external };
}

function Declared({ found, done }) {
  const columns = [
    ["Name", (row) => row.name],
    ["Type", (row) => row.network_type],
    ["Segment", (row) => row.segmentation_id ?? ""],
    ["Physical network", (row) => row.physical_network || ""],
    ["MTU", (row) => row.mtu ?? ""],
    ["Tunnel end points", (row) => row.vteps.join(", ")],
    ["Of", (row) => (row.from_service ? "the network service" : row.shared ? "several projects" : row.project_id || "anybody")],
    ["Action", (row) => !row.from_service && html`<div class="actions">
      <${Act}
        name="network_update"
        label="Change"
        about=${row.name}
        params=${{ id: row.id }}
        fields=${networkFields(row)}
        body=${(values) => ({ network: networkOf(values) })}
        command=${({ name }) => `evenkeel network set ${row.id} --name ${name} …`}
        watch=${(answer) => watches.listed(NETWORKS, "networks", answer.network, "it is changed")}
        done=${done}
      />
      <${Act} name="network_delete" label="Delete" about=${row.name} params=${{ id: row.id }} command=${() => `evenkeel network delete ${row.id}`} watch=${() => watches.unlisted(NETWORKS, "networks", { id: row.id })} done=${done} />
    </div>`],
  ];
  return html`<h2>Declared networks</h2>
    <${Failure} error=${found.refused} />
    <${Table} caption="Declared networks" columns=${columns} rows=${found.networks} empty="None: devices are attached to no network of the built-in service." />
    ${!found.refused &&
    html`<${Actions} names=${["network_create"]}>
      <${Act}
        name="network_create"
        label="Declare network"
        fields=${[{ name: "network_type", label: "Type", options: TYPES }, ...networkFields(), { name: "project_id", label: "Only for this project (id)" }]}
        body=${(values) => ({ network: networkOf(values) })}
        command=${({ name, network_type }) => `evenkeel network create ${name} --type ${network_type} …`}
        watch=${(answer) => watches.listed(NETWORKS, "networks", { id: answer.network.id }, "it is there")}
        done=${done}
      />
    <//>`}
    <${Also} command="evenkeel network list" path=${NETWORKS} />`;
}
