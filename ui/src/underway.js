// What was begun here, followed until the API shows that it is done: by what is seen, not by the click. The tab keeps it,
// so that a reload goes on with it; a logout ends it.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { onLogOut } from "./api.js";
import { lookOf } from "./watches.js";

const LOOK_MS = 1000;
const SHOWN_MS = 20000; // after it is done
const FOLLOWED_MS = 30 * 60000;
const ALL_MAX = 20;
const STORED = "evenkeel-underway";
const MARKS = { waiting: ["other", "◌"], done: ["good", "●"], failed: ["bad", "▲"] };

let number = 0;
let all = [];
const listeners = new Set();

function tell(change) {
  all = change(all);
  sessionStorage.setItem(STORED, JSON.stringify(all.map(({ title, watch, until }) => ({ title, watch, until }))));
  for (const listener of listeners) listener(all);
}

const changed = (one, seen) => tell((known) => known.map((each) => (each.number === one.number ? { ...each, ...seen } : each)));
const removed = (one) => tell((known) => known.filter((each) => each.number !== one.number));
const isKept = (one) => all.some((each) => each.number === one.number);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

onLogOut(() => tell(() => []));

/** `watch`: of watches.js. `until`: the time at which it is given up. The oldest of too many is left out. */
export async function follow(title, watch, until = Date.now() + FOLLOWED_MS) {
  const look = lookOf(watch);
  const one = { number: ++number, title, watch, until, text: "asked for", state: "waiting" };
  tell((known) => [...known, one].slice(-ALL_MAX));
  for (let state = "waiting"; state === "waiting" && isKept(one); ) {
    try {
      const seen = await look();
      state = seen.state;
      changed(one, seen);
    } catch (error) {
      changed(one, { text: error.message });
    }
    if (state === "waiting" && Date.now() > until) return changed(one, { text: "not done after half an hour; it goes on", state: "failed" });
    await pause(state === "waiting" ? LOOK_MS : SHOWN_MS);
    if (state === "done") removed(one);
  }
}

let hasGoneOn = false;

/** Go on with what this tab followed before the page was loaded; once, when there is a login. */
function goOn() {
  if (hasGoneOn) return;
  hasGoneOn = true;
  let stored = [];
  try {
    stored = JSON.parse(sessionStorage.getItem(STORED) || "[]");
  } catch {
    // not ours: begin with nothing
  }
  for (const { title, watch, until } of stored.slice(-ALL_MAX)) if (watch && lookOf(watch)) follow(title, watch, until);
}

export function UnderWay() {
  const [shown, setShown] = useState(all);
  useEffect(() => {
    listeners.add(setShown);
    goOn();
    setShown(all);
    return () => listeners.delete(setShown);
  }, []);
  return html`<section class="underway" aria-label="Under way">
    <ul role="list" aria-live="polite">
      ${shown.map((one) => {
        const [kind, mark] = MARKS[one.state];
        return html`<li key=${one.number} class=${one.state}>
          <span><strong>${one.title}</strong> <span class="status ${kind}"><span aria-hidden="true">${mark}</span> ${one.state === "waiting" ? "under way" : one.state}</span>: ${one.text}</span>
          <button type="button" onClick=${() => removed(one)} aria-label="Dismiss: ${one.title}">×</button>
        </li>`;
      })}
    </ul>
  </section>`;
}
