import { html, render } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get, logOut, loggedInWith } from "./api.js";
import { Demo } from "./demo.js";
import { Header } from "./frame.js";
import { useEvents } from "./live.js";
import { useRoute } from "./route.js";
import { Agent, Agents } from "./views/agents.js";
import { Certificates } from "./views/certificates.js";
import { Controllers, Devices } from "./views/devices.js";
import { Environments } from "./views/environments.js";
import { Events } from "./views/events.js";
import { LoadBalancer } from "./views/loadbalancer.js";
import { ChildObject } from "./views/objects.js";
import { ActsOffered } from "./acts.js";
import { UnderWay } from "./underway.js";
import { Maintenance } from "./views/maintenance.js";
import { Networks } from "./views/networks.js";
import { LBAAS, LoadBalancers } from "./views/loadbalancers.js";
import { Login, whatWasWrong } from "./views/login.js";
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
  networks: ["Networks", Networks],
  maintenance: ["Maintenance", Maintenance],
  events: ["Events", Events],
};

const LABELS = Object.fromEntries(Object.entries(VIEWS).map(([name, [label]]) => [name, label]));

/** Who may read any of these is let in; each view says what it may not show. */
const READABLE = [`${OPERATORS}/events?limit=1&newest=true`, `${OPERATORS}/activity`, `${LBAAS}/loadbalancers?limit=1&fields=id`];

const BACK_MS = 2000;

/** Who the login is, and null; or what was refused. */
async function admitted() {
  let caller = null;
  try {
    caller = (await get(`${OPERATORS}/caller`)).caller;
  } catch (error) {
    if (error.status !== 404) return [caller, error]; // else a controller of an earlier version, which does not tell
  }
  let refused = null;
  for (const path of READABLE) {
    try {
      await get(path);
      return [caller, null];
    } catch (error) {
      refused = error;
      if (error.status !== 403) break; // else the role may read something else
    }
  }
  return [caller, refused];
}

function App() {
  const [access, setAccess] = useState({ state: "asking" });
  async function ask() {
    const tried = loggedInWith();
    const [caller, refused] = await admitted();
    if (!refused) return setAccess({ state: "in", caller });
    if ([401, 403].includes(refused.status)) return leave(whatWasWrong(refused, tried, caller));
    return setAccess({ state: "away", reason: refused.message });
  }
  function leave(reason) {
    logOut();
    setAccess({ state: "out", reason });
  }
  useEffect(() => {
    ask();
  }, []);
  useEffect(() => {
    if (access.state !== "away") return undefined;
    const timer = setTimeout(ask, BACK_MS);
    return () => clearTimeout(timer);
  }, [access]);
  if (access.state === "asking") return html`<main><p>Loading…</p></main>`;
  if (access.state === "out") return html`<${Login} wrong=${access.reason} done=${ask} />`;
  if (access.state === "away") return html`<main><p class="failure" role="alert">${access.reason}</p></main>`;
  return html`<${Inside} caller=${access.caller} leave=${leave} />`;
}

function Inside({ caller, leave }) {
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
    if (live.error && live.error.status === 401) leave("The login is not accepted any more: log in again.");
  }, [live.error]);
  function shown() {
    if (name === "agents" && id) return html`<${Agent} key=${id} id=${id} live=${live} />`;
    if (name !== "loadbalancers" || !id) return html`<${View} key=${name} live=${live} query=${query} />`;
    if (kind) return html`<${ChildObject} key=${child} root=${id} kind=${kind} id=${child} parent=${parent} live=${live} />`;
    return html`<${LoadBalancer} key=${id} id=${id} live=${live} />`;
  }
  return html`<a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>Skip to content</a>
    <${Header} views=${LABELS} current=${VIEWS[name] ? name : ""} caller=${caller} leave=${leave} />
    <${Demo} />
    ${live.error && live.error.status !== 401 && live.error.status !== 403 && html`<p class="failure banner" role="alert">${live.error.message}: trying again</p>`}
    <main id="main" tabindex="-1" ref=${main}>
      <${ActsOffered} place=${[name, id, kind, child].join("/")}>${shown()}<//>
    </main>
    <${UnderWay} />`;
}

render(html`<${App} />`, document.getElementById("app"));
