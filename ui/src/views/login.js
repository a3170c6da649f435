import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { challenge, logIn, withPassword, withToken } from "../api.js";
import { Logo, ThemeSwitch } from "../frame.js";

/** Ways to log in, by the scheme with which the server asks for one. */
const WAYS = { basic: "password", keystone: "token", gateway: "gateway" };

/** `wrong`: why the last login, or the request without one, was refused. */
export function Login({ wrong, done }) {
  const [way, setWay] = useState("");
  useEffect(() => {
    challenge().then((scheme) => setWay(WAYS[scheme] || "none"));
  }, []);
  function submit(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    logIn(way === "password" ? withPassword(form.get("name"), form.get("password")) : withToken(form.get("token").trim()));
    done();
  }
  return html`<main class="login">
    <h1><${Logo} /> Even Keel</h1>
    ${wrong && html`<p class="failure" role="alert">${wrong}</p>`}
    ${way === "gateway" && html`<p>This controller is behind a gateway, which logs you in. Load this page from the gateway's address.</p>`}
    ${(way === "password" || way === "token") &&
    html`<form onSubmit=${submit}>
      ${way === "password"
        ? html`<label>Name <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`
        : html`<label>Keystone token <input name="token" type="password" autocomplete="off" required /></label>
            <p class="hint">As <code>openstack token issue -f value -c id</code> prints it.</p>`}
      <button type="submit" class="confirm">Log in</button>
    </form>`}
    <${ThemeSwitch} />
  </main>`;
}

/** `tried`: the way of the login that was refused; empty: there was none. `caller`: who that is, if it is known. */
export function whatWasWrong(error, tried, caller) {
  if (error.status === 403 && caller) {
    const roles = caller.roles.length ? `has only ${caller.roles.length === 1 ? "the role" : "the roles"} ${caller.roles.join(", ")}` : "has no role";
    return `${caller.user} is logged in, but ${roles}, with which nothing here may be read.${error.roles.length ? ` It takes one of ${error.roles.join(", ")}.` : ""}`;
  }
  if (error.status !== 401) return error.message;
  if (tried === "password") return "The name or the password is wrong.";
  if (tried === "token") return "Keystone does not accept this token: it is mistyped or has expired.";
  return "";
}
