// Moves of load balancers, what devices hold without the database's knowledge, and the database's history.
import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { OPERATORS, get, orRefused, post } from "../api.js";
import { Act, Actions } from "../acts.js";
import { useData } from "../live.js";
import { Also, Facts, Failure, Status, Table, age, clock, short } from "../parts.js";
import { watches } from "../watches.js";
import { MovePlan, MoveEnds } from "../moves.js";
import { orphansOf } from "../orphans.js";

const MOVES = `${OPERATORS}/moves`;
const ANY = "{id}"; // each device group's common shard is asked

export function Maintenance({ live }) {
  async function read() {
    const [moves, shards, database, environments, agents] = await Promise.all([
      orRefused(get(MOVES)),
      get(`${OPERATORS}/shards`),
      get(`${OPERATORS}/database`),
      get(`${OPERATORS}/environments`),
      get(`${OPERATORS}/agents`),
    ]);
    return { moves, database: database.database, common: shards.shards.filter((shard) => !shard.project_id), environments: environments.environments, agents: agents.agents };
  }
  const { data, error, again } = useData(read, live.newest);
  return html`<h1>Maintenance</h1>
    <${Failure} error=${error} loading=${!data} />
    ${data && html`<${Moves} data=${data} done=${again} /><${Orphans} groups=${data.common} /><${Database} database=${data.database} done=${again} />`}`;
}

function Moves({ data: { moves, agents, environments }, done }) {
  const columns = [
    ["Load balancer", (row) => html`<a href="#/loadbalancers/${row.load_balancer_id}">${row.name || short(row.load_balancer_id)}</a>`],
    ["Step", (row) => html`<${Status} value=${row.step} />${row.back ? " (back)" : ""}`],
    ["From", (row) => row.source],
    ["To", (row) => row.target],
    ["Reason", (row) => row.reason],
    ["Gap", (row) => (row.gap_seconds === null ? "" : `${row.gap_seconds.toFixed(2)} s`)],
    ["Action", (row) => row.step !== "done" && html`<${MoveEnds} move=${row} done=${done} />`],
  ];
  const rows = moves.moves && moves.moves.map((row) => ({ ...row, id: row.load_balancer_id }));
  return html`<h2>Moves to other device groups</h2>
    <${Failure} error=${moves.refused} />
    <${Table} caption="Moves" columns=${columns} rows=${rows} empty="None was made yet." />
    ${!moves.refused && html`<${Actions} names=${["move_create"]}><${MoveProject} agents=${agents} environments=${environments} done=${done} /><//>`}
    <${Also} command="evenkeel moves" path=${MOVES} />`;
}

/** All load balancers of a project in an environment. */
function MoveProject({ agents, environments, done }) {
  const groups = [...new Set(agents.map((agent) => agent.group_number))].sort((one, other) => one - other);
  const wanted = ({ project_id, environment, to_group }, apply) => ({ move: { project_id, environment, to_group: Number(to_group), apply } });
  if (!environments.length || !groups.length) return null;
  return html`<${Act}
    name="move_create"
    label="Move a project"
    fields=${[
      { name: "project_id", label: "Project (id)", required: true },
      { name: "environment", label: "Environment", options: environments.map((row) => [row.name, row.name]) },
      { name: "to_group", label: "To device group", options: groups.map((number) => [String(number), String(number)]) },
    ]}
    plan=${async (values) => (values.project_id ? MovePlan((await post(MOVES, wanted(values, false))).move) : { problem: "Name the project." })}
    body=${(values) => wanted(values, true)}
    command=${({ project_id, environment, to_group }) => `evenkeel move --project ${project_id} --environment ${environment} --to-group ${to_group} --yes`}
    watch=${(answer) => {
      const ids = answer.move.loadbalancers.map((row) => row.load_balancer_id);
      return ids.length === 1 ? watches.moved(ids[0]) : watches.movedAll(ids);
    }}
    done=${done}
  />`;
}

/** Asked for by a button: an agent reads its devices for it. */
function Orphans({ groups }) {
  const [state, setState] = useState({ asking: false });
  async function ask() {
    setState({ asking: true });
    const found = await Promise.all(groups.map((shard) => orphansOf(shard)));
    setState({ asking: false, rows: found.flatMap((each) => each.rows), problems: found.map((each) => each.problem).filter(Boolean) });
  }
  const columns = [
    ["What", (row) => row.kind],
    ["Id", (row) => html`<code>${row.id}</code>`],
    ["Device group", (row) => row.place],
    ["Known for", (row) => `${row.seconds} s`],
    ["Removed", (row) => (row.removed_in_seconds === null || row.removed_in_seconds === undefined ? "not by itself" : `in ${row.removed_in_seconds} s`)],
    ["Action", (row) => row.kind === "load balancer" && html`<${Act}
      name="orphan_delete"
      label="Remove"
      about=${short(row.id)}
      params=${{ id: row.id }}
      facts=${`${row.devices} of device group ${row.place} hold it.`}
      command=${() => `evenkeel orphan remove ${row.id}`}
      watch=${() => watches.orphanRemoved(row.shard, row.id)}
    />`],
  ];
  return html`<h2>On devices, but not in the database</h2>
    <p><button type="button" onClick=${ask} disabled=${state.asking}>Look for orphans</button> Agents compare their devices with the database once a minute and after each complete pass. Nothing is changed.</p>
    <div aria-live="polite">
      ${state.asking && html`<p>Asking the agents…</p>`}
      ${(state.problems || []).map((problem) => html`<p class="failure">${problem}</p>`)}
      ${state.rows && html`<${Table} caption="Orphans" columns=${columns} rows=${state.rows} empty="Devices hold nothing that the database does not know, by the last comparison." />`}
    </div>
    <${Also} command="evenkeel orphan list" path="${OPERATORS}/shards/${ANY}/orphans" method="POST" />`;
}

function Database({ database, done }) {
  return html`<h2>Database</h2>
    <${Facts}
      facts=${[
        ["History", html`<code>${database.history_id}</code>`],
        ["Since", database.begun_at ? `${clock(database.begun_at)} UTC` : "the database was created"],
      ]}
    />
    ${database.unknown_histories.map(
      (row) => html`<div key=${row.history_id} class="problem">
        <p>▲ An agent saw history <code>${row.history_id}</code> ${age(row.noted_at)} ago, which this database never had: nothing is removed from devices.</p>
        <${Act}
          name="database_accept_history"
          label="Accept history"
          about=${short(row.history_id)}
          params=${{ id: row.history_id }}
          command=${() => `evenkeel database accept-history ${row.history_id}`}
          watch=${() => watches.historyAccepted(row.history_id)}
          done=${done}
        />
      </div>`,
    )}
    <${Actions} names=${["database_new_history"]}>
      <${Act}
        name="database_new_history"
        label="Begin a new history"
        facts="Only after a backup was restored, or the database has lost changes."
        command=${() => "evenkeel database new-history"}
        watch=${(answer) => watches.seen(`history ${answer.database.history_id} has begun; agents check everything`)}
        done=${done}
      />
    <//>
    <${Also} command="evenkeel database show" path="${OPERATORS}/database" />`;
}
