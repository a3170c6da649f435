import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { logIn, withPassword, withToken } from "../api.js";

/** `reason`: why the API refused the request without, or with another, login. */
export function Login({ reason, done }) {
  const [kind, setKind] = useState("password");
  function submit(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    logIn(kind === "password" ? withPassword(form.get("name"), form.get("password")) : withToken(form.get("token")));
    done();
  }
  return html`<main class="login">
    <h1>Even Keel</h1>
    <form onSubmit=${submit}>
      ${reason && html`<p class="failure" role="alert">${reason}</p>`}
      <fieldset>
        <legend>Log in with</legend>
        <label><input type="radio" name="kind" checked=${kind === "password"} onChange=${() => setKind("password")} /> a password</label>
        <label><input type="radio" name="kind" checked=${kind === "token"} onChange=${() => setKind("token")} /> a Keystone token</label>
      </fieldset>
      ${kind === "password"
        ? html`<label>Name <input name="name" autocomplete="username" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>`
        : html`<label>Token <input name="token" type="password" autocomplete="off" required /></label>`}
      <button type="submit">Log in</button>
    </form>
  </main>`;
}
