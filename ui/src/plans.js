// What the next pass would change on devices: observed beside desired.
import { html } from "htm/preact";
import { Table } from "./parts.js";
import { counted } from "./words.js";

export function PlanView({ plan }) {
  if (!plan.devices.length) return html`<p>Nothing: the load balancer is gone.</p>`;
  return plan.devices.map((device) => html`<${DevicePlan} key=${device.device} device=${device} host=${plan.host} />`);
}

function DevicePlan({ device, host }) {
  const rows = device.operations.flatMap((step, index) => {
    const attributes = step.attributes.length ? step.attributes : [{ name: "", present: "", wanted: "" }];
    return attributes.map((attribute, place) => ({ id: `${index}.${place}`, step, attribute }));
  });
  const columns = [
    ["Would", ({ step }) => step.verb],
    ["Object", ({ step }) => html`${step.type} <strong>${step.name}</strong>${step.note && ` (${step.note})`}`],
    ["Attribute", ({ attribute }) => attribute.name],
    ["Observed", ({ attribute }) => attribute.present],
    ["Desired", ({ attribute }) => attribute.wanted],
  ];
  return html`<h3>${device.device}, read by ${host}</h3>
    ${device.problem && html`<p class="failure">${device.problem}</p>`}
    ${!rows.length && !device.problem
      ? html`<p class="status good"><span aria-hidden="true">●</span> It holds what is desired: no difference.</p>`
      : html`<${Table} caption="Differences on ${device.device}" columns=${columns} rows=${rows} empty="" />`}
    ${device.more > 0 && html`<p>${counted(device.more, "more object differs", "more objects differ")}.</p>`}
    ${device.left.length > 0 && html`<p>Stays, no load balancer needs it: ${device.left.join(", ")}</p>`}`;
}
