// What several views use.
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { now } from "./api.js";

const GOOD = new Set(["ACTIVE", "ONLINE", "up", "connected", "reached", "served", "closed"]);
const UNSURE = new Set(["DEGRADED", "DRAINING"]);
const BAD = new Set(["ERROR", "OFFLINE", "silent", "forced_down", "unserved", "halted", "out of reach", "failed", "expired"]);

export const kindOf = (value) => (GOOD.has(value) ? "good" : BAD.has(value) ? "bad" : UNSURE.has(value) ? "unsure" : "other");

/** A status as a word with a mark: never by colour alone. */
export function Status({ value }) {
  const kind = kindOf(value);
  const mark = { good: "●", bad: "▲", unsure: "◆", other: "◌" }[kind];
  return html`<span class="status ${kind}"><span aria-hidden="true">${mark}</span> ${value}</span>`;
}

export const short = (id) => (id && /^([0-9a-f]{8}-|[0-9a-f]{32}$)/.test(id) ? id.slice(0, 8) : id);

/** Seconds since a time of the API, as people say it. */
export function age(text) {
  if (!text) return "";
  const passed = Math.max(0, (now() - Date.parse(text.endsWith("Z") ? text : `${text}Z`)) / 1000);
  if (passed < 120) return `${Math.round(passed)} s`;
  if (passed < 7200) return `${Math.round(passed / 60)} min`;
  if (passed < 172800) return `${Math.round(passed / 3600)} h`;
  return `${Math.round(passed / 86400)} d`;
}

export const seconds = (milliseconds) => `${Math.max(0, milliseconds / 1000).toFixed(1)} s`;

/** Day and time of a time of the API. */
export const clock = (text) => text.replace("T", " ").slice(0, 19);

/** A number in few digits. */
export function amount(value) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  if (value > 0 && value < 0.001) return "< 0.001";
  return value >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(2);
}

/** Names and values. */
export function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.filter(([, value]) => value !== "").map(([name, value, isLong]) => html`<div key=${name} class=${isLong ? "long" : null}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** The same on the command line and in the API. */
export function Also({ command, path, method = "GET" }) {
  return html`<p class="also">
    The same: <code>${command}</code>${path && html` · <code>${method} ${path.replace(/^\.\./, "")}</code>`}
  </p>`;
}

/** `loading`: there is no answer yet. */
export function Failure({ error, loading }) {
  if (error && error.status === 403) return html`<${Refused} error=${error} />`;
  if (error) return html`<p class="failure" role="alert">${error.message}</p>`;
  return loading && html`<p>Loading…</p>`;
}

/** In the place of what this login may not read. */
export function Refused({ error }) {
  return html`<p class="empty">${error.roles.length ? `Needs the role ${error.roles.join(" or ")}.` : error.message}</p>`;
}

const isEmpty = (content) => content === "" || content === null || content === undefined || content === false;

/**
 * Cells have keys, because columns come and go: what is pressed, focused or selected stays the same node.
 * `columns`: [title, row => content, sort key]; one that is empty in all rows, and can't be sorted by, is left out.
 * `rows` have a `key`, `id` or `name`. `order`: by which key it is sorted and the links to other orders.
 */
export function Table({ caption, columns: all, rows, empty, order }) {
  if (!rows) return null;
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  const columns = all.filter(([, cell, key]) => key || rows.some((row) => !isEmpty(cell(row))));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(([title, , key]) => html`<${Heading} key=${title} title=${title} sortKey=${key} order=${order} />`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr key=${row.key || row.id || row.name}>${columns.map(([title, cell]) => html`<td key=${title} data-title=${title}>${cell(row)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function Heading({ title, sortKey, order }) {
  if (!sortKey || !order) return html`<th scope="col">${title}</th>`;
  const sorted = order.key === sortKey ? (order.descending ? "descending" : "ascending") : null;
  const mark = { ascending: "▲", descending: "▼" }[sorted] || "";
  return html`<th scope="col" aria-sort=${sorted}>
    <a class="order" href=${order.link(sortKey, sorted === "ascending")}>${title} <span aria-hidden="true">${mark}</span></a>
  </th>`;
}

/** Copies a text; says so. */
export function Copy({ text, about }) {
  const [copied, setCopied] = useState(false);
  async function copy() {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  }
  return html`<button type="button" class="copy" onClick=${copy} aria-label=${`Copy ${about}`}><span role="status">${copied ? "Copied" : "Copy"}</span></button>`;
}

async function copyText(text) {
  // pages without TLS have no clipboard
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
