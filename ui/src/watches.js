// What shows that an act is done, by what the API says.
import { OPERATORS, get, now } from "./api.js";
import { LBAAS } from "./views/loadbalancers.js";
import { counted } from "./words.js";

const done = (text) => ({ text, state: "done" });
const waiting = (text) => ({ text, state: "waiting" });
const failed = (text) => ({ text, state: "failed" });

const because = (reason) => (reason ? `; waiting: ${reason}` : "");
const SETTLE_MS = 15000; // for what is read a moment later

async function agentOf(id) {
  return (await get(`${OPERATORS}/agents/${encodeURIComponent(id)}`)).agent;
}

/** An agent's shards go to others. */
export const leaving = (id) => async () => {
  const agent = await agentOf(id);
  if (!agent.acting_shards && agent.state !== "draining") return done(`${agent.host} is ${agent.state}, it serves no shard`);
  return waiting(`${agent.host} is ${agent.state}, ${counted(agent.acting_shards, "shard")} left${because(agent.waiting_reason)}`);
};

/** An agent's shards come home. */
export const comingHome = (id) => async () => {
  const agent = await agentOf(id);
  if (agent.admin_state_up && !agent.away_shards) return done(`${agent.host} is ${agent.state}, its shards are home`);
  return waiting(`${agent.host} is ${agent.state}, ${counted(agent.away_shards, "shard")} away${because(agent.away_reason)}`);
};

export const notForcedDown = (id) => async () => {
  const agent = await agentOf(id);
  return agent.forced_down ? waiting(`${agent.host} is ${agent.state}`) : done(`${agent.host} is ${agent.state}`);
};

/** An agent is no longer home to any shard, and serves none. */
export const rebound = (id) => async () => {
  const agent = await agentOf(id);
  if (!agent.home_shards && !agent.acting_shards) return done(`no shard is left at ${agent.host}`);
  return waiting(`${counted(agent.acting_shards, "shard is", "shards are")} still at ${agent.host}${because(agent.waiting_reason)}`);
};

/** A shard is served by this agent. */
export const shardAt = (id, agentId) => async () => {
  const shards = (await get(`${OPERATORS}/shards?agent_id=${encodeURIComponent(agentId)}`)).shards;
  const shard = shards.find((each) => each.id === id);
  const agent = await agentOf(agentId);
  if (shard && shard.acting_agent_id === agentId) return done(`${agent.host} serves it, epoch ${shard.epoch}`);
  return waiting(shard ? `its home is ${agent.host}; it is still served elsewhere` : "its home is not changed yet");
};

export const resumed = (name) => async () => {
  const { environment } = await get(`${OPERATORS}/environments/${encodeURIComponent(name)}`);
  if (environment.halted) return waiting(environment.halted);
  const shards = (await get(`${OPERATORS}/shards?environment=${encodeURIComponent(name)}`)).shards.filter((shard) => !shard.served);
  return shards.length ? waiting(`the breaker is closed; ${counted(shards.length, "shard is", "shards are")} not served yet`) : done("the breaker is closed, every shard is served");
};

/** It is not there any more. */
export const gone = (path) => async () => {
  try {
    await get(path);
  } catch (error) {
    if (error.status === 404) return done("it is deleted");
    throw error;
  }
  return waiting("it is still there");
};

/** `find` gives what was made or changed, from a list. */
export const listed = (path, key, find, words) => async () => {
  const found = (await get(path))[key].find(find);
  return found ? done(words(found)) : waiting("not seen yet");
};

export const unlisted = (path, key, find) => async () => ((await get(path))[key].some(find) ? waiting("it is still there") : done("it is deleted"));

/** References were read after they were asked for. */
export function read(reference) {
  const since = now() - 1000; // times of the API have whole seconds
  const until = Date.now() + SETTLE_MS;
  return async () => {
    const rows = (await get(`${OPERATORS}/references`)).references.filter((row) => !reference || row.reference === reference);
    const old = rows.filter((row) => Date.parse(`${row.checked_at}Z`) < since);
    if (!old.length) return done(`${counted(rows.length, "reference was", "references were")} read again`);
    const broken = old.filter((row) => row.problem);
    if (Date.now() > until && broken.length === old.length)
      return failed(`${counted(broken.length, "reference", "references")} cannot be read: ${broken[0].reference}: ${broken[0].problem}`);
    return waiting(`${counted(old.length, "reference is", "references are")} not read yet`);
  };
}

/** The devices confirm this revision, or a newer one. */
export const applied = (id, revision) => async () => {
  const { hosting } = await get(`${OPERATORS}/loadbalancers/${id}/agent`);
  const by = hosting.acting ? ` by ${hosting.acting.host}` : "";
  if (hosting.provisioning_status === "ERROR") return failed(hosting.status_reason || "it is in ERROR");
  if (hosting.provisioning_status === "ACTIVE" && hosting.applied_revision >= (revision ?? hosting.revision)) return done(`revision ${hosting.applied_revision} is on the devices${by}`);
  return waiting(`${hosting.provisioning_status}${because(hosting.status_reason)}`);
};

export const moved = (id) => async () => {
  const [move] = (await get(`${OPERATORS}/moves?load_balancer_id=${id}`)).moves;
  if (!move) return waiting("it begins");
  const reason = move.reason ? ` (${move.reason})` : "";
  if (move.step === "done") {
    const gap = move.gap_seconds === null ? "" : `; no devices were confirmed to answer for ${move.vip_address} for ${move.gap_seconds.toFixed(2)} s`;
    return done(`${move.back ? "it went back" : `it is on ${move.target}`}${reason}${gap}`);
  }
  if (move.step === "draining" && move.by_operator) return waiting(`route ${move.vip_address} to device group ${move.target}, then finish the move`);
  return waiting(`${move.step}${reason}, from ${move.source} to ${move.target}`);
};

export const movedAll = (ids) => async () => {
  const moves = (await get(`${OPERATORS}/moves`)).moves.filter((move) => ids.includes(move.load_balancer_id));
  const left = moves.filter((move) => move.step !== "done");
  return left.length || moves.length < ids.length ? waiting(`${ids.length - moves.length + left.length} of ${ids.length} are still moving`) : done(`${ids.length} are moved`);
};

export const activeAgain = (id) => async () => {
  const { loadbalancer } = await get(`${LBAAS}/loadbalancers/${id}`);
  return loadbalancer.provisioning_status === "ACTIVE" ? done("ACTIVE") : waiting(loadbalancer.provisioning_status);
};

export const seen = (text) => async () => done(text);
