// What operators can do. The API says what each act does and whether this login may; a dialog says it and asks once.
import { createContext } from "preact";
import { html } from "htm/preact";
import { useContext, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { OPERATORS, get, request } from "./api.js";
import { Failure } from "./parts.js";
import { follow } from "./underway.js";

const ASK_MS = 130000; // an agent may read its devices before the answer
const PLAN_AFTER_MS = 300;
const AGAIN_MS = 5000;

const Offered = createContext({});
const Dialogs = createContext({});

/**
 * Acts by name, to everything below. Empty: this login may not even read which there are. The open dialog is here and not
 * beside its button: what the view shows is read again meanwhile, and the button may be gone. It ends with the `place`.
 */
export function ActsOffered({ place, children }) {
  const [acts, setActs] = useState({});
  const [asked, setAsked] = useState(null);
  const dialogs = useMemo(
    () => ({
      open: setAsked,
      // only while it asks the same: its button may do the opposite by now
      tell: (by, title, facts) => setAsked((was) => (was && was.by === by && was.title === title && was.facts !== facts ? { ...was, facts } : was)),
    }),
    [],
  );
  useEffect(() => () => setAsked(null), [place]);
  useEffect(() => {
    let timer = null;
    const ask = () =>
      get(`${OPERATORS}/acts`).then(
        ({ acts: found }) => setActs(Object.fromEntries(found.map((act) => [act.name, act]))),
        (error) => error.status === 0 && (timer = setTimeout(ask, AGAIN_MS)),
      );
    ask();
    return () => clearTimeout(timer);
  }, []);
  return html`<${Offered.Provider} value=${acts}><${Dialogs.Provider} value=${dialogs}>${children}<//><//>
    ${asked && html`<${Dialog} key=${asked.number} ...${asked} close=${() => setAsked(null)} />`}`;
}

/** Whether this login may do any of these acts. */
export function useMay(...names) {
  const acts = useContext(Offered);
  return names.some((name) => acts[name] && acts[name].allowed);
}

/** Actions in a row; who may do none of them is told which role may. */
export function Actions({ names, children }) {
  const acts = names.map((name) => useContext(Offered)[name]).filter(Boolean);
  if (!acts.length) return null;
  if (acts.some((act) => act.allowed)) return html`<div class="actions">${children}</div>`;
  return html`<p class="empty">Actions need the role ${acts[0].roles.join(" or ") || "of an operator"}.</p>`;
}

const pathOf = (path, params) => `..${path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name]))}`;

let opened = 0;

/**
 * A button, and its dialog, which keeps what it was opened with, but for the facts. `fields`: what is asked for besides.
 * `body`, `query`, `command`: of the values. `plan`: of the values, resolves to `{ view, problem }`, with a problem there is
 * nothing to confirm. `watch`: of answer and values, gives what `follow` takes. `facts`: what holds for this object.
 */
export function Act({ name, label, about, params = {}, fields = [], body, query, command, plan, facts, watch, done = () => {} }) {
  const act = useContext(Offered)[name];
  const { open, tell } = useContext(Dialogs);
  const by = useId();
  const title = about ? `${label} ${about}` : label;
  useEffect(() => tell(by, title, facts), [by, title, facts]);
  if (!act || !act.allowed) return null;
  const ask = () => open({ number: ++opened, by, act, title, label, params, fields, body, query, command, plan, facts, watch, done });
  return html`<button type="button" onClick=${ask} aria-label=${title}>${label}</button>`;
}

function Dialog({ act, title, label, params, fields, body, query, command, plan, facts, watch, done, close }) {
  const dialog = useRef(null);
  const [values, setValues] = useState(() => Object.fromEntries(fields.map((field) => [field.name, field.initial ?? (field.options ? first(field) : "")])));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const planned = usePlan(plan, values);
  const leave = () => dialog.current?.close(); // so that the focus goes back to the button
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  async function confirm(event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const asking = query ? `?${new URLSearchParams(query(values))}` : "";
      const answer = await request(act.method, pathOf(act.path, params) + asking, body && (await body(values)), ASK_MS);
      if (watch) follow(title, watch(answer, values));
      leave();
      done();
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  }
  const lacking = fields.some((field) => field.required && !values[field.name]);
  return html`<dialog ref=${dialog} class="act" onClose=${close} aria-label=${title}>
    <form onSubmit=${confirm}>
      <h2>${title}?</h2>
      <p>${act.effect}</p>
      ${facts && html`<p>${facts}</p>`}
      ${fields.map((field) => html`<${Field} key=${field.name} field=${field} value=${values[field.name]} set=${(value) => setValues((was) => ({ ...was, [field.name]: value }))} />`)}
      ${plan && html`<div class="plan" aria-live="polite">${planned.busy ? html`<p>Asking for the plan…</p>` : planned.view}<${Failure} error=${planned.error} />${planned.problem && html`<p class="failure">${planned.problem}</p>`}</div>`}
      ${command && html`<p class="also">The same: <code>${command(values)}</code></p>`}
      <${Failure} error=${error} />
      <p class="buttons">
        <button type="submit" class="confirm" disabled=${busy || lacking || planned.busy || Boolean(planned.problem)}>${label}</button>
        <button type="button" onClick=${leave}>Cancel</button>
        ${busy && html`<span role="status">Asking…</span>`}
      </p>
    </form>
  </dialog>`;
}

const first = (field) => (field.options.length ? field.options[0][0] : "");

/** The plan of the newest values. */
function usePlan(plan, values) {
  const [state, setState] = useState({ busy: Boolean(plan) });
  const key = JSON.stringify(values);
  useEffect(() => {
    if (!plan) return undefined;
    let isNewest = true;
    setState({ busy: true });
    const timer = setTimeout(async () => {
      try {
        const found = await plan(values);
        if (isNewest) setState({ busy: false, ...found });
      } catch (error) {
        if (isNewest) setState({ busy: false, error });
      }
    }, PLAN_AFTER_MS);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  }, [key]);
  return state;
}

/** `kind`: text (usual), number, password, checkbox, lines (a list, one a line) or file (its content). */
function Field({ field, value, set }) {
  const { name, label, kind = "text", options, required, help, hint } = field;
  const told = help && html`<small>${help}</small>`;
  if (kind === "checkbox") return html`<label class="field check"><input type="checkbox" name=${name} checked=${value} onChange=${(event) => set(event.target.checked)} /> ${label}</label>`;
  const given = { name, required, onInput: (event) => set(event.target.value) };
  const input = options
    ? html`<select name=${name} value=${value} onChange=${(event) => set(event.target.value)}>${options.map(([option, word]) => html`<option value=${option}>${word}</option>`)}</select>`
    : kind === "lines"
      ? html`<textarea ...${given} rows="3" placeholder=${hint}>${value}</textarea>`
      : kind === "file"
        ? html`<input type="file" name=${name} required=${required} onChange=${(event) => set(event.target.files[0] || "")} />`
        : html`<input type=${kind} ...${given} value=${value} placeholder=${hint} autocomplete="off" />`;
  return html`<label class="field">${label} ${input} ${told}</label>`;
}

/** Lines of a text field as a list. */
export const listOf = (text) => (text || "").split(/[\s,]+/).filter(Boolean);
/** Without what was left empty. */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined));
