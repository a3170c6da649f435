// Small pictures of a load balancer's traffic, and of each listener's, where the controller offers its series.
import { Fragment } from "preact";
import { html } from "htm/preact";
import { OPERATORS, get } from "../api.js";
import { Charts } from "../chart.js";
import { useData } from "../live.js";
import { Also, Refused } from "../parts.js";

export const TRAFFIC = [
  ["Connections per second", { connections: "" }],
  ["Open connections", { active_connections: "" }],
  ["Bytes per second", { bytes_in: "in", bytes_out: "out" }],
  ["Errors per second", { request_errors: "" }],
];
const LINES = [...TRAFFIC, ["Members online", { members_online: "", members: "of" }]];

/** `listeners`: with id, protocol, port and name. */
export function Traffic({ id, turn, listeners }) {
  const path = `${OPERATORS}/loadbalancers/${id}/series`;
  const { data, error, at } = useData(() => get(path), turn, [id]);
  if (error && error.status === 403) return html`<h2>Traffic</h2><${Refused} error=${error} />`;
  if (!data || !data.points || data.points.length < 2) return null;
  const begin = data.points[0].at.slice(11, 16);
  const [only] = listeners.length === 1 ? listeners : [];
  const known = new Map((data.listeners || []).map((each) => [each.listener_id, each.points]));
  return html`<h2>Traffic since ${begin} UTC${only && `, all of listener ${listenerName(only)}`}</h2>
    <${Charts} lines=${LINES} points=${data.points} seconds=${data.interval} to=${at} />
    ${listeners
      .filter((listener) => known.has(listener.id))
      .map((listener) => html`<${Fragment} key=${listener.id}><h3>Listener ${listenerName(listener)}</h3><${Charts} lines=${TRAFFIC} points=${known.get(listener.id)} seconds=${data.interval} to=${at} /><//>`)}
    <${Also} command="evenkeel loadbalancer series ${id}" path=${path} />`;
}

/** Protocol and port, and the name if it has one. */
export const listenerName = (listener) => `${listener.protocol} ${listener.protocol_port}${listener.name && ` (${listener.name})`}`;
