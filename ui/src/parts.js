// What several views use.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { put } from "./api.js";

const GOOD = new Set(["ACTIVE", "ONLINE", "up", "connected", "reached"]);
const BAD = new Set(["ERROR", "OFFLINE", "silent", "forced_down", "unserved", "halted"]);

/** A status as a word with a mark: never by colour alone. */
export function Status({ value }) {
  const kind = GOOD.has(value) ? "good" : BAD.has(value) ? "bad" : "other";
  const mark = { good: "●", bad: "▲", other: "◌" }[kind];
  return html`<span class="status ${kind}"><span aria-hidden="true">${mark}</span> ${value}</span>`;
}

export const short = (id) => (id && /^[0-9a-f]{8}-/.test(id) ? id.slice(0, 8) : id);

/** Seconds since a time of the API, as people say it. */
export function age(text) {
  if (!text) return "";
  const seconds = Math.max(0, (Date.now() - Date.parse(text.endsWith("Z") ? text : `${text}Z`)) / 1000);
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** The same on the command line and in the API. */
export function Also({ command, path }) {
  return html`<p class="also">
    Also: <code>${command}</code>${path && html` · <code>GET ${path.replace(/^\.\./, "")}</code>`}
  </p>`;
}

export function Failure({ error }) {
  return error && html`<p class="failure" role="alert">${error.message}</p>`;
}

/** `columns`: [title, row => content]. */
export function Table({ caption, columns, rows, empty }) {
  if (!rows) return html`<p>Loading…</p>`;
  if (!rows.length) return html`<p>${empty}</p>`;
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
export function Action({ label, question, path, body, done }) {
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState(null);
  const dialog = useRef(null);
  useEffect(() => {
    if (asked) dialog.current.showModal();
  }, [asked]);
  async function confirm() {
    try {
      await put(path, body);
      setError(null);
      setAsked(false);
      done();
    } catch (refused) {
      setError(refused);
    }
  }
  return html`<button type="button" onClick=${() => setAsked(true)}>${label}</button>
    ${asked &&
    html`<dialog ref=${dialog} onClose=${() => setAsked(false)}>
      <p>${question}</p>
      <${Failure} error=${error} />
      <button type="button" class="confirm" onClick=${confirm}>${label}</button>
      <button type="button" onClick=${() => setAsked(false)}>Cancel</button>
    </dialog>`}`;
}
