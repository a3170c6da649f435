// What was begun here, followed until the API shows that it is done: by what is seen, not by the click.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

const LOOK_MS = 1000;
const KEPT_MS = 20000; // after it is done
const FOLLOWED_MS = 30 * 60000;
const MARKS = { waiting: ["other", "◌"], done: ["good", "●"], failed: ["bad", "▲"] };

let number = 0;
let all = [];
const listeners = new Set();

function tell(change) {
  all = change(all);
  for (const listener of listeners) listener(all);
}

const changed = (one, seen) => tell((known) => known.map((each) => (each.number === one.number ? { ...each, ...seen } : each)));
const removed = (one) => tell((known) => known.filter((each) => each.number !== one.number));
const isKept = (one) => all.some((each) => each.number === one.number);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `look` resolves to `{ text, state }`, `state`: waiting, done or failed. */
export async function follow(title, look) {
  const one = { number: ++number, title, text: "asked for", state: "waiting" };
  tell((known) => [...known, one]);
  const until = Date.now() + FOLLOWED_MS;
  for (let state = "waiting"; state === "waiting" && isKept(one); ) {
    try {
      const seen = await look();
      state = seen.state;
      changed(one, seen);
    } catch (error) {
      changed(one, { text: error.message });
    }
    if (Date.now() > until) return changed(one, { text: "not done after half an hour; it goes on", state: "failed" });
    await pause(state === "waiting" ? LOOK_MS : KEPT_MS);
    if (state === "done") removed(one);
  }
}

export function UnderWay() {
  const [shown, setShown] = useState(all);
  useEffect(() => {
    listeners.add(setShown);
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
