// Buttons of the demo. Only its own front offers them, to who has the token that it printed; no controller does.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

const TOKEN = new URLSearchParams(location.search).get("demo");
const PATH = "../demo/controls";
const LOOK_MS = 2000;

async function ask(body) {
  const answer = await fetch(PATH, {
    method: body ? "POST" : "GET",
    headers: { "X-Demo-Token": TOKEN, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
    cache: "no-store",
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.reason || `HTTP ${answer.status}`);
  return content;
}

export function Demo() {
  const [state, setState] = useState(null);
  const [host, setHost] = useState("");
  const [reason, setReason] = useState("");
  useEffect(() => {
    if (!TOKEN) return undefined;
    const look = () => ask().then(setState, () => {}); // what is shown stays: one answer may be lost
    look();
    const timer = setInterval(() => document.hidden || look(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  if (!state) return null;
  const chosen = host || state.agents[0].host;
  const button = (label, action) =>
    html`<button
      type="button"
      disabled=${!state.offered}
      onClick=${() =>
        ask({ action, host: chosen }).then(
          (now) => (setState(now), setReason("")),
          (error) => setReason(error.message),
        )}
    >
      ${label}
    </button>`;
  return html`<section class="demo" aria-label="Demo">
    <strong>Demo</strong>
    <label
      >Agent${" "}
      <select value=${chosen} onChange=${(event) => setHost(event.target.value)}>
        ${state.agents.map((agent) => html`<option value=${agent.host}>${agent.host}, ${agent.state}</option>`)}
      </select></label
    >
    ${button("Kill it", "kill")} ${button("Freeze it", "freeze")} ${button("Cut the device off", "cut")} ${button("Heal everything", "heal")}
    <span role="status">${reason || (state.offered ? `Device: ${state.device}` : "It tells its story first; the buttons come at its end.")}</span>
  </section>`;
}
