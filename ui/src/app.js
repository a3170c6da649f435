import { html, render } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get, isLoggedIn, logOut } from "./api.js";
import { Demo } from "./demo.js";
import { useEvents } from "./live.js";
import { useRoute } from "./route.js";
import { Agent, Agents } from "./views/agents.js";
import { Certificates } from "./views/certificates.js";
import { Controllers, Devices } from "./views/devices.js";
import { Environments } from "./views/environments.js";
import { Events } from "./views/events.js";
import { LoadBalancer } from "./views/loadbalancer.js";
import { ChildObject } from "./views/objects.js";
import { LBAAS, LoadBalancers } from "./views/loadbalancers.js";
import { Login } from "./views/login.js";
import { Overview } from "./views/overview.js";
import { Topology } from "./views/topology.js";

const VIEWS = {
  "": ["Overview", Overview],
  topology: ["Topology", Topology],
  loadbalancers: ["Load balancers", LoadBalancers],
  agents: ["Agents", Agents],
  devices: ["Devices", Devices],
  controllers: ["Controllers", Controllers],
  environments: ["Environments", Environments],
  certificates: ["Certificates", Certificates],
  events: ["Events", Events],
};

/** Who may read any of these is let in; each view says what it may not show. */
const READABLE = [`${OPERATORS}/events?limit=1&newest=true`, `${OPERATORS}/activity`, `${LBAAS}/loadbalancers?limit=1&fields=id`];

function App() {
  const [access, setAccess] = useState({ state: "asking", reason: "" });
  async function ask() {
    let refused = null;
    for (const path of READABLE) {
      try {
        await get(path);
        return setAccess({ state: "in", reason: "" });
      } catch (error) {
        refused = error;
        if (error.status !== 403) break; // else the role may read something else
      }
    }
    const login = refused.status === 401 || refused.status === 403;
    setAccess({ state: login ? "out" : "away", reason: isLoggedIn() || !login ? refused.message : "" });
  }
  useEffect(() => {
    ask();
  }, []);
  useEffect(() => {
    if (access.state !== "away") return undefined;
    const timer = setTimeout(ask, 2000);
    return () => clearTimeout(timer);
  }, [access]);
  if (access.state === "asking") return html`<main><p>Loading…</p></main>`;
  if (access.state === "out") return html`<${Login} reason=${access.reason} done=${ask} />`;
  if (access.state === "away") return html`<main><p class="failure" role="alert">${access.reason}</p></main>`;
  return html`<${Inside}
    leave=${(reason) => {
      logOut();
      setAccess({ state: "out", reason });
    }}
  />`;
}

function Inside({ leave }) {
  const live = useEvents();
  const {
    parts: [name, id, kind, child, parent],
    query,
  } = useRoute();
  const main = useRef(null);
  const [title, View] = VIEWS[name] || VIEWS[""];
  useEffect(() => {
    document.title = `${title} · Even Keel`;
    if (main.current && document.activeElement !== document.body) main.current.focus();
  }, [name, id, child]);
  useEffect(() => {
    if (live.error && live.error.status === 401) leave(live.error.message);
  }, [live.error]);
  function shown() {
    if (name === "agents" && id) return html`<${Agent} key=${id} id=${id} live=${live} />`;
    if (name !== "loadbalancers" || !id) return html`<${View} key=${name} live=${live} query=${query} />`;
    if (kind) return html`<${ChildObject} key=${child} root=${id} kind=${kind} id=${child} parent=${parent} live=${live} />`;
    return html`<${LoadBalancer} key=${id} id=${id} live=${live} />`;
  }
  return html`<a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>Skip to content</a>
    <header>
      <span class="brand">Even Keel</span>
      <nav aria-label="Views">
        ${Object.entries(VIEWS).map(
          ([key, [label]]) => html`<a href="#/${key}" aria-current=${key === (VIEWS[name] ? name : "") ? "page" : null}>${label}</a>`,
        )}
      </nav>
      ${isLoggedIn() && html`<button type="button" onClick=${() => leave("")}>Log out</button>`}
    </header>
    <${Demo} />
    ${live.error && live.error.status !== 401 && live.error.status !== 403 && html`<p class="failure banner" role="alert">${live.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${main}>
      ${shown()}
    </main>`;
}

render(html`<${App} />`, document.getElementById("app"));
