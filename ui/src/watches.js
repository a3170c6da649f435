// What shows that an act is done, by what the API says. A watch is data, so that a reload of the page can go on with it.
import { OPERATORS, get, now } from "./api.js";
import { orphansOf } from "./orphans.js";
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

/** Whether a row of a list has these values. */
const isLike = (wanted) => (row) => Object.entries(wanted).every(([name, value]) => JSON.stringify(row[name]) === JSON.stringify(value));

/** By name: functions that look once, and resolve to `{ text, state }`. Their arguments are kept as JSON. */
const LOOKS = {
  /** An agent's shards go to others. */
  async leaving(id) {
    const agent = await agentOf(id);
    if (!agent.acting_shards && agent.state !== "draining") return done(`${agent.host} is ${agent.state}, it serves no shard`);
    return waiting(`${agent.host} is ${agent.state}, ${counted(agent.acting_shards, "shard")} left${because(agent.waiting_reason)}`);
  },

  /** An agent's shards come home. */
  async comingHome(id) {
    const agent = await agentOf(id);
    if (agent.admin_state_up && !agent.away_shards) return done(`${agent.host} is ${agent.state}, its shards are home`);
    return waiting(`${agent.host} is ${agent.state}, ${counted(agent.away_shards, "shard")} away${because(agent.away_reason)}`);
  },

  async notForcedDown(id) {
    const agent = await agentOf(id);
    return agent.forced_down ? waiting(`${agent.host} is ${agent.state}`) : done(`${agent.host} is ${agent.state}`);
  },

  /** An agent is no longer home to any shard, and serves none. */
  async rebound(id) {
    const agent = await agentOf(id);
    if (!agent.home_shards && !agent.acting_shards) return done(`no shard is left at ${agent.host}`);
    return waiting(`${counted(agent.acting_shards, "shard is", "shards are")} still at ${agent.host}${because(agent.waiting_reason)}`);
  },

  /** A shard is served by this agent. */
  async shardAt(id, agentId) {
    const shards = (await get(`${OPERATORS}/shards?agent_id=${encodeURIComponent(agentId)}`)).shards;
    const shard = shards.find((each) => each.id === id);
    const agent = await agentOf(agentId);
    if (shard && shard.acting_agent_id === agentId) return done(`${agent.host} serves it, epoch ${shard.epoch}`);
    return waiting(shard ? `its home is ${agent.host}; it is still served elsewhere` : "its home is not changed yet");
  },

  async resumed(name) {
    const { environment } = await get(`${OPERATORS}/environments/${encodeURIComponent(name)}`);
    if (environment.halted) return waiting(environment.halted);
    const shards = (await get(`${OPERATORS}/shards?environment=${encodeURIComponent(name)}`)).shards.filter((shard) => !shard.served);
    return shards.length ? waiting(`the breaker is closed; ${counted(shards.length, "shard is", "shards are")} not served yet`) : done("the breaker is closed, every shard is served");
  },

  /** It is not there any more. */
  async gone(path) {
    try {
      await get(path);
    } catch (error) {
      if (error.status === 404) return done("it is deleted");
      throw error;
    }
    return waiting("it is still there");
  },

  /** The list `key` has a row with the values of `wanted`; `text`: what is said then. */
  async listed(path, key, wanted, text) {
    return (await get(path))[key].some(isLike(wanted)) ? done(text) : waiting("not seen yet");
  },

  async unlisted(path, key, wanted) {
    return (await get(path))[key].some(isLike(wanted)) ? waiting("it is still there") : done("it is deleted");
  },

  /** References were read after they were asked for; empty: all. */
  async read(reference, since, until) {
    const rows = (await get(`${OPERATORS}/references`)).references.filter((row) => !reference || row.reference === reference);
    const old = rows.filter((row) => Date.parse(`${row.checked_at}Z`) < since);
    if (!old.length) return done(`${counted(rows.length, "reference was", "references were")} read again`);
    const broken = old.filter((row) => row.problem);
    if (Date.now() > until && broken.length === old.length)
      return failed(`${counted(broken.length, "reference", "references")} cannot be read: ${broken[0].reference}: ${broken[0].problem}`);
    return waiting(`${counted(old.length, "reference is", "references are")} not read yet`);
  },

  /** The devices confirm the newest revision. */
  async applied(id) {
    const { hosting } = await get(`${OPERATORS}/loadbalancers/${id}/agent`);
    const by = hosting.acting ? ` by ${hosting.acting.host}` : "";
    if (hosting.provisioning_status === "ERROR") return failed(hosting.status_reason || "it is in ERROR");
    if (hosting.provisioning_status === "ACTIVE" && hosting.applied_revision >= hosting.revision) return done(`revision ${hosting.applied_revision} is on the devices${by}`);
    return waiting(`${hosting.provisioning_status}${because(hosting.status_reason)}`);
  },

  async moved(id) {
    const [move] = (await get(`${OPERATORS}/moves?load_balancer_id=${id}`)).moves;
    if (!move) return waiting("it begins");
    const reason = move.reason ? ` (${move.reason})` : "";
    if (move.step === "done") {
      const gap = move.gap_seconds === null ? "" : `; no devices were confirmed to answer for ${move.vip_address} for ${move.gap_seconds.toFixed(2)} s`;
      return done(`${move.back ? "it went back" : `it is on ${move.target}`}${reason}${gap}`);
    }
    if (move.step === "draining" && move.by_operator) return waiting(`route ${move.vip_address} to device group ${move.target}, then finish the move`);
    return waiting(`${move.step}${reason}, from ${move.source} to ${move.target}`);
  },

  async movedAll(ids) {
    const moves = (await get(`${OPERATORS}/moves`)).moves.filter((move) => ids.includes(move.load_balancer_id));
    const left = moves.filter((move) => move.step !== "done");
    return left.length || moves.length < ids.length ? waiting(`${ids.length - moves.length + left.length} of ${ids.length} are still moving`) : done(`${ids.length} are moved`);
  },

  async activeAgain(id) {
    const { loadbalancer } = await get(`${LBAAS}/loadbalancers/${id}`);
    return loadbalancer.provisioning_status === "ACTIVE" ? done("ACTIVE") : waiting(loadbalancer.provisioning_status);
  },

  /** No device of the group of this common shard holds the orphan. */
  async orphanRemoved(shard, id) {
    const { rows, problem } = await orphansOf(shard);
    if (problem) return waiting(problem);
    return rows.some((each) => each.id === id) ? waiting("devices still hold it") : done("devices hold it no more");
  },

  async historyAccepted(id) {
    const left = (await get(`${OPERATORS}/database`)).database.unknown_histories;
    return left.some((each) => each.history_id === id) ? waiting("still unknown") : done("it is accepted");
  },

  /** The answer itself says that it is done. */
  async seen(text) {
    return done(text);
  },
};

/** By name: functions of the arguments of a look that give its watch, `{ name, args }`. */
export const watches = Object.fromEntries(Object.keys(LOOKS).map((name) => [name, (...args) => ({ name, args })]));

/** References are read after now; empty: all. */
export const readAgain = (reference) => watches.read(reference, now() - 1000, Date.now() + SETTLE_MS); // times of the API have whole seconds

/** The function that looks for a watch; undefined: none is known, as after an upgrade. */
export const lookOf = ({ name, args }) => Object.hasOwn(LOOKS, name) && Array.isArray(args) ? () => LOOKS[name](...args) : undefined;
