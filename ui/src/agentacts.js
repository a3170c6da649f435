// What can be done with an agent, and with a shard.
import { html } from "htm/preact";
import { OPERATORS, get, post } from "./api.js";
import { Act, Actions } from "./acts.js";
import { watches } from "./watches.js";
import { counted } from "./words.js";
import { PlanView } from "./plans.js";

const NAMES = ["agent_drain", "agent_undrain", "agent_failback", "agent_force_down", "agent_rebind", "agent_delete"];
const ADOPTION_MS = 130000;

/** Drain, or undrain. */
export function Drain({ agent, done }) {
  const drain = agent.admin_state_up;
  const word = drain ? "drain" : "undrain";
  return html`<${Act}
    name="agent_${word}"
    label=${drain ? "Drain" : "Undrain"}
    about=${agent.host}
    params=${{ id: agent.id }}
    facts=${drain ? `It serves ${counted(agent.acting_shards, "shard")}.` : `${counted(agent.away_shards, "shard")} of its own ${agent.away_shards === 1 ? "is" : "are"} elsewhere.`}
    command=${() => `evenkeel agent ${word} ${agent.host} --wait`}
    watch=${() => (drain ? watches.leaving(agent.id) : watches.comingHome(agent.id))}
    done=${done}
  />`;
}

/** `others`: agents of its device group. */
export function AgentActs({ agent, others, done }) {
  const params = { id: agent.id };
  const homes = others.map((other) => [other.id, `${other.host}, ${other.state}`]);
  const stopped = !agent.alive;
  return html`<${Actions} names=${NAMES}>
    <${Drain} agent=${agent} done=${done} />
    ${agent.away_shards > 0 &&
    html`<${Act}
      name="agent_failback"
      label="Fail back"
      about=${agent.host}
      params=${params}
      facts=${`${counted(agent.away_shards, "shard")} of it ${agent.away_shards === 1 ? "is" : "are"} elsewhere. ${agent.away_reason}`}
      command=${() => `evenkeel agent failback ${agent.host} --wait`}
      watch=${() => watches.comingHome(agent.id)}
      done=${done}
    />`}
    <${Act}
      name="agent_force_down"
      label=${agent.forced_down ? "Host is not dead" : "Host is dead"}
      about=${agent.host}
      params=${params}
      body=${() => ({ down: !agent.forced_down })}
      facts=${agent.forced_down ? "Its agent may serve shards again." : `${agent.host} is ${agent.state}. Go on only if it is powered off, or isolated.`}
      command=${() => `evenkeel agent force-down ${agent.host} ${agent.forced_down ? "--undo" : "--yes --wait"}`}
      watch=${() => (agent.forced_down ? watches.notForcedDown(agent.id) : watches.leaving(agent.id))}
      done=${done}
    />
    ${homes.length > 0 &&
    html`<${Act}
      name="agent_rebind"
      label="Rebind"
      about=${agent.host}
      params=${params}
      facts=${`It is home to ${counted(agent.home_shards, "shard")}.`}
      fields=${[{ name: "to", label: "New home", options: homes, required: true }]}
      body=${({ to }) => ({ to })}
      command=${({ to }) => `evenkeel agent rebind ${agent.host} --to ${to}`}
      watch=${() => watches.rebound(agent.id)}
      done=${done}
    />`}
    ${stopped &&
    html`<${Act}
      name="agent_delete"
      label="Delete"
      about=${agent.host}
      params=${params}
      facts=${`It is ${agent.state}, and home to ${counted(agent.home_shards, "shard")}.`}
      fields=${[{ name: "rebind_to", label: "New home of its load balancers", options: [["", "none"], ...homes] }]}
      query=${({ rebind_to }) => (rebind_to ? { rebind_to } : {})}
      command=${({ rebind_to }) => `evenkeel agent delete ${agent.host}${rebind_to ? ` --rebind-to ${rebind_to}` : ""}`}
      watch=${() => watches.gone(`${OPERATORS}/agents/${encodeURIComponent(agent.id)}`)}
    />`}
  <//>`;
}

/** Of a tenant's shard; `agents`: all of its device group. */
export function ShardActs({ shard, agents, driver, done }) {
  const homes = agents.filter((agent) => agent.id !== shard.home_agent_id).map((agent) => [agent.id, `${agent.host}, ${agent.state}`]);
  const about = `of project ${shard.project_id.slice(0, 8)}`;
  return html`<div class="actions">
    ${homes.length > 0 &&
    html`<${Act}
      name="shard_rebind"
      label="Move"
      about="shard ${about}"
      params=${{ id: shard.id }}
      fields=${[{ name: "to", label: "New home", options: homes, required: true }]}
      body=${({ to }) => ({ to })}
      command=${({ to }) => `evenkeel shard move ${shard.id} --to ${to}`}
      watch=${(_, { to }) => watches.shardAt(shard.id, to)}
      done=${done}
    />`}
    ${driver === "bigip" && html`<${Adoption} shard=${shard} about=${about} back=${false} done=${done} /><${Adoption} shard=${shard} about=${about} back=${true} done=${done} />`}
  </div>`;
}

function Adoption({ shard, about, back, done }) {
  const wanted = (apply, values) => ({ adoption: { apply, ...(back ? { give_back: true } : {}), ...(values.keep_irules ? { keep_irules: true } : {}) } });
  return html`<${Act}
    name="shard_adopt"
    label=${back ? "Give back" : "Adopt"}
    about="partition ${about}"
    params=${{ id: shard.id }}
    facts=${back ? "The partition becomes the other program's again; nothing of it is changed any more." : ""}
    fields=${back ? [] : [{ name: "keep_irules", label: "Keep iRules of operators on the virtual servers", kind: "checkbox", initial: false }]}
    plan=${async (values) => ({ view: html`<${PlanView} plan=${(await post(`${OPERATORS}/shards/${shard.id}/adoption`, wanted(false, values), ADOPTION_MS)).adoption} />` })}
    body=${(values) => wanted(true, values)}
    command=${({ keep_irules }) => `evenkeel adopt ${shard.project_id} --environment ${shard.environment}${back ? " --back" : ""}${keep_irules ? " --keep-irules" : ""} --yes`}
    watch=${(answer) => watches.seen(`${answer.adoption.host} has ${back ? "given the partition back" : "adopted the partition; the next pass changes what the plan named"}`)}
    done=${done}
  />`;
}

export const agentsOf = async (environment, group) => (await get(`${OPERATORS}/agents?environment=${encodeURIComponent(environment)}&group_number=${group}`)).agents;
