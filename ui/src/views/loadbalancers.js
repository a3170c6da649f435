import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get, orRefused } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table, age, short } from "../parts.js";
import { goTo, linkTo } from "../route.js";

export const LBAAS = "../v2/lbaas";
const PAGE = 50;
const TYPING_MS = 250;
const PROVISIONING = ["ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ACTIVE", "DELETED"];
const OPERATING = ["ONLINE", "OFFLINE", "DEGRADED", "ERROR", "DRAINING", "NO_MONITOR"];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ADDRESS = /^[0-9.]{7,15}$|:/;
const ASKED = ["q", "provisioning_status", "operating_status", "environment", "group_number", "project_id", "held", "sort", "marker", "page_reverse"];

/** The request for what the URL asks. */
function searchOf(query) {
  const asked = ASKED.filter((name) => query[name]).map((name) => [name, query[name]]);
  return `${OPERATORS}/loadbalancers?${new URLSearchParams([...asked, ["limit", PAGE]])}`;
}

/** The same for a tenant, who has the list of its own: whole names, addresses and ids only, and no total. */
function ownListOf({ q, environment, group_number: _group, held: _held, ...rest }) {
  const asked = new URLSearchParams({ ...rest, limit: PAGE });
  if (environment) asked.set("provider", environment);
  if (q) asked.set(UUID.test(q) ? "id" : ADDRESS.test(q) ? "vip_address" : "name", q);
  return `${LBAAS}/loadbalancers?${asked}`;
}

async function find(query) {
  const found = await orRefused(get(searchOf(query)));
  if (!found.refused) return { ...found, path: searchOf(query) };
  const own = await get(ownListOf(query));
  const loadbalancers = own.loadbalancers.map((row) => ({ ...row, environment: row.provider, group_number: null }));
  return { ...own, loadbalancers, path: ownListOf(query), own: true };
}

export function LoadBalancers({ live, query }) {
  const key = JSON.stringify(query);
  const { data, error } = useData(() => find(query), live.newest, [key]);
  /** Another question begins at its first page. */
  const ask = (changed, options) => goTo(linkTo("loadbalancers", { ...query, marker: "", page_reverse: "", ...changed }), options);
  const [sort = "", direction] = (query.sort || "").split(":");
  const order = {
    key: sort,
    descending: direction === "desc",
    link: (by, descending) => linkTo("loadbalancers", { ...query, marker: "", page_reverse: "", sort: `${by}:${descending ? "desc" : "asc"}` }),
  };
  const columns = [
    ["Name", (row) => html`<a href="#/loadbalancers/${row.id}">${row.name || short(row.id)}</a>${row.held && html` <span class="tag">held</span>`}`, "name"],
    ["Id", (row) => html`<code title=${row.id}>${short(row.id)}</code>`],
    ["VIP", (row) => row.vip_address, "vip_address"],
    ["Provisioning", (row) => html`<${Status} value=${row.provisioning_status} />`, "provisioning_status"],
    ["Operating", (row) => html`<${Status} value=${row.operating_status} />`, "operating_status"],
    ["Place", (row) => (row.group_number === null ? row.environment : `${row.environment}/${row.group_number}`)],
    ["Project", (row) => html`<a title=${row.project_id} href=${linkTo("loadbalancers", { project_id: row.project_id })}>${short(row.project_id)}</a>`],
    ["Age", (row) => age(row.created_at), "created_at"],
    ["Reason", (row) => row.status_reason || row.operating_reason],
  ];
  return html`<div class="heading"><h1>Load balancers</h1>${data && html`<${Total} data=${data} />`}</div>
    <${Filters} query=${query} ask=${ask} live=${live} />
    <${Failure} error=${error} loading=${!data} />
    ${data &&
    html`<${Table} caption="Load balancers" columns=${columns} rows=${data.loadbalancers} empty="None is like that." order=${order} />
      <${Pages} links=${data.loadbalancers_links || []} query=${query} />
      <${Also} command="evenkeel loadbalancer list" path=${data.path} />`}`;
}

function Total({ data }) {
  if (data.own) return null;
  const total = data.total.toLocaleString("en");
  return html`<p class="total" role="status">${data.total_is_exact ? total : `more than ${total}`} ${data.total === 1 ? "load balancer" : "load balancers"}</p>`;
}

/** Links to the pages beside this one, from those that the API gives. */
function Pages({ links, query }) {
  if (!links.length) return null;
  const link = (rel, label) => {
    const found = links.find((each) => each.rel === rel);
    if (!found) return html`<span class="away">${label}</span>`;
    const asked = new URL(found.href, location.href).searchParams;
    const [marker, reverse] = [asked.get("marker"), asked.get("page_reverse") || ""];
    return html`<a rel=${rel === "next" ? "next" : "prev"} href=${linkTo("loadbalancers", { ...query, marker, page_reverse: reverse })}>${label}</a>`;
  };
  const first = linkTo("loadbalancers", { ...query, marker: "", page_reverse: "" });
  return html`<nav class="pages" aria-label="Pages">
    ${query.marker ? html`<a href=${first}>First</a>` : html`<span class="away">First</span>`} ${link("previous", "Previous")} ${link("next", "Next")}
  </nav>`;
}

function Filters({ query, ask, live }) {
  const environments = useData(async () => (await orRefused(get(`${OPERATORS}/environments`))).environments || [], live.newest).data || [];
  const groups = useGroups(query.environment);
  const choice = (label, name, values, more = {}) =>
    html`<label
      >${label}
      <select value=${query[name] || ""} onChange=${(event) => ask({ [name]: event.target.value, ...more })}>
        <option value="">any</option>
        ${values.map((each) => (Array.isArray(each) ? html`<option value=${each[0]}>${each[1]}</option>` : html`<option>${each}</option>`))}
      </select></label
    >`;
  const isAsked = ASKED.some((name) => query[name] && name !== "sort" && name !== "marker" && name !== "page_reverse");
  return html`<form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
    <${Typed} label="Search" type="search" wide value=${query.q || ""} hint="name, VIP, member's address, project or id" told=${(q) => ask({ q }, { instead: Boolean(query.q) && Boolean(q) })} />
    ${choice("Provisioning", "provisioning_status", PROVISIONING)} ${choice("Operating", "operating_status", OPERATING)}
    ${environments.length > 0 && choice("Environment", "environment", environments.map((each) => each.name), { group_number: "" })}
    ${query.environment && choice("Device group", "group_number", groups)}
    <${Typed} label="Project" value=${query.project_id || ""} hint="whole id" told=${(id) => ask({ project_id: id })} />
    ${choice("Imported, held", "held", [
      ["true", "held"],
      ["false", "not held"],
    ])}
    ${isAsked && html`<a class="clear" href=${linkTo("loadbalancers", { sort: query.sort })}>Clear</a>`}
  </form>`;
}

/** Numbers of the device groups of an environment that have agents. */
function useGroups(environment) {
  const read = async () => {
    if (!environment) return [];
    const { agents = [] } = await orRefused(get(`${OPERATORS}/agents?environment=${encodeURIComponent(environment)}`));
    return [...new Set(agents.map((each) => each.group_number))].sort((one, other) => one - other).map(String);
  };
  return useData(read, 0, [environment]).data || [];
}

/** A field that tells what was typed when the typing pauses. */
function Typed({ label, value, hint, told, wide, type = "text" }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) setText(value); // by Back, or a link
    sent.current = value;
  }, [value]);
  function typed(event) {
    const now = event.target.value;
    setText(now);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = now.trim();
      told(sent.current);
    }, TYPING_MS);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<label class=${wide ? "wide" : ""}>${label} <input type=${type} value=${text} onInput=${typed} placeholder=${hint} maxlength="255" spellcheck="false" autocomplete="off" /></label>`;
}
