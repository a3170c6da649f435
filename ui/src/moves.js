// Moves of load balancers to other device groups.
import { html } from "htm/preact";
import { OPERATORS, get, post } from "./api.js";
import { Act, given } from "./acts.js";
import { watches } from "./watches.js";

const MOVES = `${OPERATORS}/moves`;

/** What a plan says, and whether there is a reason against it. */
export function MovePlan(plan) {
  const problems = [...plan.problems, ...plan.loadbalancers.flatMap((row) => row.problems)];
  const view = plan.loadbalancers.map(
    (row) => html`<p>${row.name || row.load_balancer_id} (${row.vip_address}), from ${row.source || "nowhere"} to ${plan.target}:</p>
      <ol>
        ${row.steps.map((step) => html`<li>${step}</li>`)}
      </ol>`,
  );
  return { view: view.length ? view : html`<p>There is nothing to move.</p>`, problem: problems.join("; ") || (view.length ? "" : "There is nothing to move.") };
}

/** `groups`: other device groups, `environment/number`. */
export function MoveOne({ id, name, groups, done }) {
  if (!groups.length) return null;
  const wanted = ({ to }, apply) => ({ move: { load_balancer_id: id, ...placeOf(to), apply } });
  return html`<${Act}
    name="move_create"
    label="Move"
    about=${name}
    fields=${[{ name: "to", label: "To device group", options: groups.map((group) => [group, group]) }]}
    plan=${async (values) => MovePlan((await post(MOVES, wanted(values, false))).move)}
    body=${(values) => wanted(values, true)}
    command=${({ to }) => `evenkeel move ${id} --to-environment ${placeOf(to).to_environment} --to-group ${placeOf(to).to_group} --yes`}
    watch=${() => watches.moved(id)}
    done=${done}
  />`;
}

function placeOf(text) {
  const at = text.lastIndexOf("/");
  return { to_environment: text.slice(0, at), to_group: Number(text.slice(at + 1)) };
}

/** Finish or back, of a move under way. */
export function MoveEnds({ move, done }) {
  const id = move.load_balancer_id;
  const about = `the move of ${move.name || id.slice(0, 8)}`;
  return html`<div class="actions">
    <${Act}
      name="move_finish"
      label="Finish"
      about=${about}
      params=${{ id }}
      facts=${`Its step is ${move.step}. ${move.by_operator ? `Route ${move.vip_address} to device group ${move.target} first.` : ""}`}
      command=${() => `evenkeel move ${id} --finish --yes`}
      watch=${() => watches.moved(id)}
      done=${done}
    />
    <${Act} name="move_back" label="Go back" about=${about} params=${{ id }} facts=${`From ${move.target} to ${move.source}.`} command=${() => `evenkeel move ${id} --back --yes`} watch=${() => watches.moved(id)} done=${done} />
  </div>`;
}

export const movesOf = (id) => get(`${MOVES}?${new URLSearchParams(given({ load_balancer_id: id }))}`);
