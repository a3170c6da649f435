// Certificates in use: what listeners and pools refer to, the first to expire first. Never a key.
import { html } from "htm/preact";
import { OPERATORS, get, now, orRefused } from "../api.js";
import { Act, Actions, given } from "../acts.js";
import { useData } from "../live.js";
import { Also, Failure, Status, Table } from "../parts.js";
import { linkTo } from "../route.js";
import { readAgain, watches } from "../watches.js";
import { counted } from "../words.js";

const DAY_MS = 86400000;
const SOON_DAYS = 7;
const LATER_DAYS = 30;
const YEAR_DAYS = 365.25;
const YEARS_FROM_DAYS = 2 * YEAR_DAYS;
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
  return html`<span class="status ${kind}" title=${`until ${until} UTC`}><span aria-hidden="true">${{ bad: "▲", unsure: "◆", good: "●" }[kind]}</span> ${days > YEARS_FROM_DAYS ? counted(Math.floor(days / YEAR_DAYS), "year") : counted(days, "day")} left</span>`;
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
    ["Action", (row) => html`<${Refresh} reference=${row.reference} />`],
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows.map((row) => ({ ...row, id: `${row.project_id} ${row.kind} ${row.reference}` }))} empty=${empty} />`;
}

function Refresh({ reference }) {
  return html`<${Act}
    name="reference_refresh"
    label="Refresh"
    about=${reference}
    body=${() => ({ refresh: { reference } })}
    command=${() => `evenkeel certificate refresh '${reference}'`}
    watch=${() => readAgain(reference)}
  />`;
}

export function Certificates({ live, query }) {
  const asked = new URLSearchParams(Object.entries(query).filter(([name]) => ["expiring_days", "unreadable", "project_id"].includes(name)));
  const path = asked.size ? `${OPERATORS}/references?${asked}` : `${OPERATORS}/references`;
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
    <${Actions} names=${["reference_refresh"]}>
      <${Act} name="reference_refresh" label="Refresh all" body=${() => ({ refresh: {} })} command=${() => "evenkeel certificate refresh"} watch=${() => readAgain("")} />
    <//>
    <${Also} command="evenkeel certificate list --expiring 36500" path=${path} />
    <${Kept} live=${live} />`;
}

const KEPT = `${OPERATORS}/certificates`;
const KINDS = [["certificate", "certificate with key"], ["authority", "CA certificates"], ["revocation_list", "revocation list"]];

/** Those that the controllers store themselves, where they do. */
function Kept({ live }) {
  const { data, error, again } = useData(() => orRefused(get(KEPT)), live.newest);
  if (data ? data.refused : !error) return null;
  const columns = [
    ["Reference", (row) => html`<code>${row.reference}</code>`],
    ["Kind", (row) => row.kind.replace("_", " ")],
    ["Valid", (row) => html`<${DaysLeft} until=${row.not_after} />`],
    ["Subject", (row) => row.subject || "–"],
    ["Action", (row) => html`<${Act}
      name="certificate_delete"
      label="Delete"
      about=${row.name}
      params=${{ project_id: row.project_id, name: row.name }}
      command=${() => `evenkeel certificate delete ${row.reference}`}
      watch=${() => watches.unlisted(KEPT, "certificates", { reference: row.reference })}
      done=${again}
    />`],
  ];
  return html`<h2>Stored by the controllers</h2>
    ${error && html`<p class="empty">${error.message}</p>`}
    ${data &&
    html`<${Table} caption="Stored certificates" columns=${columns} rows=${data.certificates.map((row) => ({ ...row, id: row.reference }))} empty="None is stored." />
      <${Actions} names=${["certificate_create"]}>
        <${Act}
          name="certificate_create"
          label="Add certificate"
          fields=${[
            { name: "project_id", label: "Project (id)", required: true },
            { name: "name", label: "Name", required: true },
            { name: "kind", label: "Kind", options: KINDS },
            { name: "file", label: "File: PEM, or PKCS#12 of a certificate", kind: "file", required: true },
            { name: "private_key", label: "Key, if it is in a file of its own (PEM)", kind: "file" },
            { name: "intermediates", label: "Intermediates, if they are (PEM)", kind: "file" },
            { name: "passphrase", label: "Passphrase", kind: "password" },
            { name: "replace", label: "Replace one with that name", kind: "checkbox", initial: false },
          ]}
          body=${newCertificate}
          command=${({ project_id, name, file }) => `evenkeel certificate add ${name} --project ${project_id} --file ${file ? file.name : "FILE"}`}
          watch=${({ certificate: { reference, sha256, not_after } }) => watches.listed(KEPT, "certificates", { reference, sha256 }, `${reference}, valid until ${not_after || "–"}`)}
          done=${again}
        />
      <//>`}
    <${Also} command="evenkeel certificate list" path=${KEPT} />`;
}

/** The body of the request; files are read here and kept nowhere. */
async function newCertificate({ file, private_key, intermediates, ...values }) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const content = text.includes("-----BEGIN ") ? { pem: text } : { pkcs12: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
  const others = given({ private_key: private_key && (await private_key.text()), intermediates: intermediates && (await intermediates.text()) });
  return { certificate: { ...given(values), ...content, ...others } };
}
