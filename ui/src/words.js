/** A number with the singular or the plural: 1 shard, 2 shards. */
export const counted = (count, one, several = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : several}`;
