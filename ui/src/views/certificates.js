// Certificates in use: what listeners and pools refer to, the first to expire first. Never a key.
import { html } from "htm/preact";
import { OPERATORS, get, now } from "../api.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table } from "../parts.js";
import { linkTo } from "../route.js";

const DAY_MS = 86400000;
const SOON_DAYS = 7;
const LATER_DAYS = 30;
const FILTERS = [
  ["All", {}],
  ["Expire within 30 days", { expiring_days: "30" }],
  ["Cannot be read", { unreadable: "true" }],
];

/** Days that a certificate is valid yet, as words with a mark. */
export function DaysLeft({ until }) {
  if (!until) return "–";
  const days = Math.floor((Date.parse(`${until}Z`) - now()) / DAY_MS);
  if (days < 0) return html`<${Status} value="expired" />`;
  const kind = days < SOON_DAYS ? "bad" : days < LATER_DAYS ? "unsure" : "good";
  return html`<span class="status ${kind}" title=${`until ${until} UTC`}><span aria-hidden="true">${{ bad: "▲", unsure: "◆", good: "●" }[kind]}</span> ${days} ${days === 1 ? "day" : "days"} left</span>`;
}

/** `rows`: references as the API lists them. */
export function References({ rows, caption, empty, more = [] }) {
  const columns = [
    ["Reference", (row) => html`<code>${row.reference}</code>`],
    ["Kind", (row) => row.kind.replace("_", " ")],
    ["Valid", (row) => html`<${DaysLeft} until=${row.not_after} />`],
    ["Subject", (row) => row.subject || "–"],
    ["Names", (row) => (row.dns_names || []).join(", ")],
    ["Problem", (row) => row.problem && html`<${Status} value="failed" /> ${row.problem}`],
    ...more,
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows.map((row) => ({ ...row, id: `${row.project_id} ${row.kind} ${row.reference}` }))} empty=${empty} />`;
}

export function Certificates({ live, query }) {
  const asked = new URLSearchParams(Object.entries(query).filter(([name]) => ["expiring_days", "unreadable", "project_id"].includes(name)));
  const path = `${OPERATORS}/references${asked.size ? `?${asked}` : ""}`;
  const { data, error } = useData(async () => (await get(path)).references, live.newest, [path]);
  return html`<h1>Certificates</h1>
    <nav class="filters" aria-label="Which">
      ${FILTERS.map(([title, wanted]) => html`<a href=${linkTo("certificates", wanted)} aria-current=${String(new URLSearchParams(wanted)) === String(asked) ? "true" : null}>${title}</a>`)}
    </nav>
    <${Failure} error=${error} loading=${!data} />
    ${data &&
    html`<${References}
      rows=${data}
      caption="Certificates in use"
      empty=${asked.size ? "None is like that." : "No listener or pool refers to a certificate."}
      more=${[
        ["Load balancers", (row) => row.load_balancers],
        ["Project", (row) => html`<a href=${linkTo("loadbalancers", { project_id: row.project_id })}>${row.project_id.slice(0, 8)}</a>`],
      ]}
    />`}
    <${Also} command="evenkeel certificate list --expiring 36500" path=${path} />`;
}
