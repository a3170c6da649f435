import { html } from "htm/preact";
import { OPERATORS } from "../api.js";
import { Also, Failure } from "../parts.js";

export function EventList({ events }) {
  if (!events.length) return html`<p>No events yet.</p>`;
  return html`<ol class="events">
    ${events.map(
      (event) => html`<li key=${event.id}>
        <time>${event.at.replace("T", " ").slice(0, 19)}</time>${" "}<span class="kind">${event.kind}</span>${" "}
        <span>${event.load_balancer_id ? html`<a href="#/loadbalancers/${event.load_balancer_id}">${event.text}</a>` : event.text}</span>
      </li>`,
    )}
  </ol>`;
}

export function Events({ live }) {
  return html`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <${Failure} error=${live.error} />
    <div aria-live="polite"><${EventList} events=${live.events} /></div>
    <${Also} command="evenkeel events --follow" path="${OPERATORS}/events?newest=true" />`;
}
