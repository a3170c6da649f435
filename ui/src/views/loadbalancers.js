import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { get } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table, short } from "../parts.js";

export const LBAAS = "../v2/lbaas";
const PAGE = 50;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ADDRESS = /^[0-9.]{7,15}$|:/;

/** The API's filter for what somebody types: an id, an address, a project, or a name. */
export function filterOf(kind, text) {
  const query = new URLSearchParams({ limit: PAGE });
  if (text) {
    const name = kind === "any" ? (UUID.test(text) ? "id" : ADDRESS.test(text) ? "vip_address" : "name") : kind;
    query.set(name, text);
  }
  return query;
}

export function LoadBalancers({ live }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("any");
  const [status, setStatus] = useState("");
  const query = filterOf(kind, text.trim());
  if (status) query.set("provisioning_status", status);
  const path = `${LBAAS}/loadbalancers?${query}`;
  const { data, error } = useData(async () => (await get(path)).loadbalancers, live.newest, [path]);
  const columns = [
    ["Name", (row) => html`<a href="#/loadbalancers/${row.id}">${row.name || short(row.id)}</a>`],
    ["VIP", (row) => row.vip_address],
    ["Provisioning", (row) => html`<${Status} value=${row.provisioning_status} />`],
    ["Operating", (row) => html`<${Status} value=${row.operating_status} />`],
    ["Project", (row) => html`<span title=${row.project_id}>${short(row.project_id)}</span>`],
    ["Environment", (row) => row.provider],
    ["Reason", (row) => row.status_reason || row.operating_reason],
  ];
  return html`<h1>Load balancers</h1>
    <form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Search <input type="search" value=${text} onInput=${(event) => setText(event.target.value)} placeholder="name, VIP or id" /></label>
      <label
        >by
        <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="any">name, VIP or id</option>
          <option value="project_id">project</option>
        </select></label
      >
      <label
        >Status
        <select value=${status} onChange=${(event) => setStatus(event.target.value)}>
          <option value="">any</option>
          ${["ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ACTIVE"].map((each) => html`<option>${each}</option>`)}
        </select></label
      >
    </form>
    <${Failure} error=${error} loading=${!data} />
    <${Table} caption="Load balancers (at most ${PAGE})" columns=${columns} rows=${data} empty="None is like that." />
    <${Also} command="evenkeel loadbalancer list" path=${path} />`;
}
