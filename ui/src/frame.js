// What is around each view: the brand, the views, and who is logged in.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLoggedIn } from "./api.js";
import logo from "./logo.svg";
import { THEMES, setTheme, theme } from "./theme.js";

export const Logo = () => html`<img class="logo" src=${logo} alt="" width="28" height="28" />`;

export function ThemeSwitch() {
  const [chosen, setChosen] = useState(theme);
  function choose(event) {
    setTheme(event.target.value);
    setChosen(event.target.value);
  }
  return html`<label class="theme"
    ><span>Theme</span>
    <select value=${chosen} onChange=${choose}>
      ${THEMES.map((name) => html`<option>${name}</option>`)}
    </select></label
  >`;
}

/** `views`: labels by address. `caller`: null where the controller is of a version that does not tell. */
export function Header({ views, current, caller, leave }) {
  return html`<header>
    <a class="brand" href="#/"><${Logo} /> Even Keel</a> ${caller && html`<span class="version">${caller.version}</span>`}
    <${Views} views=${views} current=${current} />
    <div class="account">
      ${caller && html`<${Caller} caller=${caller} />`}
      <${Documents} url=${caller && caller.documentation_url} />
      <${ThemeSwitch} />
      ${isLoggedIn() && html`<button type="button" onClick=${() => leave("")}>Log out</button>`}
    </div>
  </header>`;
}

function Views({ views, current }) {
  const here = useRef(null);
  useEffect(() => {
    // the bar of a phone is wider than its screen
    if (here.current) here.current.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return html`<nav aria-label="Views">
    ${Object.entries(views).map(
      ([key, label]) => html`<a href="#/${key}" ref=${key === current ? here : null} aria-current=${key === current ? "page" : null}>${label}</a>`,
    )}
  </nav>`;
}

function Caller({ caller: { user, roles, project_id } }) {
  if (!user) return html`<span class="caller">No authentication</span>`;
  const words = roles.join(", ") || "no role";
  return html`<span class="caller" title=${`Roles: ${words}. ${project_id ? `Project: ${project_id}` : "No project"}.`}>
    <strong>${user}</strong> <span class="roles">${words}</span>
  </span>`;
}

/** Where no documentation is configured, what the controller has itself. */
function Documents({ url }) {
  return url ? html`<a href=${url} target="_blank" rel="noopener noreferrer">Documentation</a>` : html`<a href="../openapi.json" target="_blank" rel="noopener">API description</a>`;
}
