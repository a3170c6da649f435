// What the devices of a device group hold without the database's knowledge.
import { OPERATORS, post } from "./api.js";
import { counted } from "./words.js";

const ASK_MS = 40000; // an agent reads its devices for it

/** Of the device group whose common shard it is: `rows`, and `problem`, empty if all was looked at. */
export async function orphansOf({ id, environment, group_number }) {
  const place = `${environment}/${group_number}`;
  const shard = { id, environment, group_number };
  try {
    const found = await post(`${OPERATORS}/shards/${id}/orphans`, undefined, ASK_MS);
    const rows = [
      ...found.orphans.map((row) => ({ ...row, kind: "load balancer", id: row.load_balancer_id, key: `${place} ${row.load_balancer_id}`, place, shard })),
      ...found.partitions.map((row) => ({ ...row, kind: "partition", id: row.project_id, key: `${place} ${row.project_id}`, place, shard })),
    ];
    return { rows, problem: found.more ? `device group ${place}: ${counted(found.more, "more was", "more were")} not looked at` : "" };
  } catch (error) {
    return { rows: [], problem: `device group ${place}: ${error.message}` };
  }
}
