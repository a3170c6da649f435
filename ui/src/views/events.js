import { html } from "htm/preact";
import { OPERATORS } from "../api.js";
import { Also, Refused } from "../parts.js";

/** Of an operator's act: the client and the request, beside the user whom the text names. */
function asked({ request_id, client_address }) {
  return request_id ? `from ${client_address}, ${request_id}` : null;
}

export function EventList({ events }) {
  if (!events.length) return html`<p>No events yet.</p>`;
  return html`<ol class="events">
    ${events.map(
      (event) => html`<li key=${event.id}>
        <time>${event.at.replace("T", " ").slice(0, 19)}</time>${" "}<span class="kind">${event.kind}</span>${" "}
        <span title=${asked(event)}>${event.load_balancer_id ? html`<a href="#/loadbalancers/${event.load_balancer_id}">${event.text}</a>` : event.text}</span>
      </li>`,
    )}
  </ol>`;
}

/** The events of the stream; or why there are none. */
export function LiveEvents({ live, most }) {
  if (live.error && live.error.status === 403) return html`<${Refused} error=${live.error} />`;
  return html`<${EventList} events=${most ? live.events.slice(0, most) : live.events} />`;
}

export function Events({ live }) {
  return html`<h1>Events</h1>
    <p>New ones appear at the top, times are UTC.</p>
    <div aria-live="polite"><${LiveEvents} live=${live} /></div>
    <${Also} command="evenkeel events --follow" path="${OPERATORS}/events?newest=true" />`;
}
