// What several views use.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { now, put } from "./api.js";

const GOOD = new Set(["ACTIVE", "ONLINE", "up", "connected", "reached", "served", "closed"]);
const BAD = new Set(["ERROR", "OFFLINE", "silent", "forced_down", "unserved", "halted", "out of reach", "failed"]);

/** A status as a word with a mark: never by colour alone. */
export function Status({ value }) {
  const kind = GOOD.has(value) ? "good" : BAD.has(value) ? "bad" : "other";
  const mark = { good: "●", bad: "▲", other: "◌" }[kind];
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
    ${facts.filter(([, value]) => value !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
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

/** `columns`: [title, row => content]. */
export function Table({ caption, columns, rows, empty }) {
  if (!rows) return null;
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(([title]) => html`<th scope="col">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr key=${row.id || row.name}>${columns.map(([, cell]) => html`<td>${cell(row)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

/** A button that changes something: asks first, says what was refused. */
export function Action({ label, about, question, path, body, command, done, send = put }) {
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState(null);
  const dialog = useRef(null);
  useEffect(() => {
    if (asked) dialog.current.showModal();
  }, [asked]);
  async function confirm() {
    try {
      await send(path, body);
      setError(null);
      setAsked(false);
      done();
    } catch (refused) {
      setError(refused);
    }
  }
  return html`<button type="button" onClick=${() => setAsked(true)} aria-label=${about ? `${label} ${about}` : null}>${label}</button>
    ${asked &&
    html`<dialog ref=${dialog} onClose=${() => setAsked(false)} aria-label=${about ? `${label} ${about}` : label}>
      <p>${question}</p>
      ${command && html`<p class="also">The same: <code>${command}</code></p>`}
      <${Failure} error=${error} />
      <button type="button" class="confirm" onClick=${confirm}>${label}</button>
      <button type="button" onClick=${() => setAsked(false)}>Cancel</button>
    </dialog>`}`;
}
