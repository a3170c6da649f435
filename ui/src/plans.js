// What the next pass would change on devices: observed beside desired.
import { html } from "htm/preact";
import { counted } from "./words.js";

export function PlanView({ plan }) {
  if (!plan.devices.length) return html`<p>Nothing: the load balancer is gone.</p>`;
  return plan.devices.map((device) => html`<${DevicePlan} key=${device.device} device=${device} host=${plan.host} />`);
}

function DevicePlan({ device, host }) {
  return html`<h3>${device.device}, read by ${host}</h3>
    ${device.problem && html`<p class="failure">${device.problem}</p>`}
    ${!device.operations.length && !device.problem
      ? html`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`
      : html`<${Differences} device=${device.device} steps=${device.operations} />`}
    ${device.more > 0 && html`<p>${counted(device.more, "more object differs", "more objects differ")}.</p>`}
    ${device.left.length > 0 && html`<p>Stays, no load balancer needs it: ${device.left.join(", ")}</p>`}`;
}

/** Each object once, with what would be done to it, above its attributes. */
function Differences({ device, steps }) {
  if (!steps.length) return null;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Differences on ${device}">
    <table class="steps">
      <caption>Differences on ${device}</caption>
      <thead>
        <tr><th scope="col">Attribute</th><th scope="col">Observed</th><th scope="col">Desired</th></tr>
      </thead>
      ${steps.map(
        (step, index) => html`<tbody key=${index}>
          <tr class="step"><th scope="rowgroup" colspan="3"><span class="verb ${step.verb}">${step.verb}</span> ${step.type} <strong>${step.name}</strong>${step.note && ` (${step.note})`}</th></tr>
          ${step.attributes.map((each) => html`<tr key=${each.name}><td data-title="Attribute">${each.name}</td><td data-title="Observed">${each.present}</td><td data-title="Desired">${each.wanted}</td></tr>`)}
        </tbody>`,
      )}
    </table>
  </div>`;
}
