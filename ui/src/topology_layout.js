// Where the topology's boxes and lines are. Lines are in the order of their agents, so that none crosses another.

const ROW = 26; // of a line
const BOX = 28; // height of a box
const PAD = 6;
const GAP = 10; // between an agent's lines and the next one's
const LETTER = 6.7; // width of a letter, about
const NARROW = 640;
const BUS = 26; // thickness

export const isNarrow = (width) => width < NARROW;

/** A text, cut to what is as wide. */
export function fitted(text, width) {
  const most = Math.floor(width / LETTER);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The first of the texts that fits into the width; else the last. */
const thatFits = (texts, width) => texts.find((text) => text.length * LETTER <= width) || texts[texts.length - 1];

const between = (low, value, high) => Math.round(Math.max(low, Math.min(value, high)));

/** Lines of each agent; those that nobody acts for at the end, with null. */
function blocksOf(agents, lines) {
  const blocks = agents.map((agent) => ({ agent, lines: lines.filter((line) => line.agent === agent.id) }));
  const known = new Set(agents.map((agent) => agent.id));
  const rest = lines.filter((line) => !known.has(line.agent));
  return rest.length ? [...blocks, { agent: null, lines: rest }] : blocks;
}

/**
 * Boxes `{kind, object, x, y, width, height}`, `links` between parts that are only connected, `lines` with the path `d`
 * from the agent to the devices and the place of their text, the `frame` around the devices, and the whole height.
 */
export function layoutOf(parts, width) {
  return (isNarrow(width) ? downwards : across)({ ...parts, blocks: blocksOf(parts.agents, parts.lines) }, width);
}

/** From left to right: controllers, the message bus, agents, devices. */
function across({ controllers, devices, blocks }, width) {
  const wide = { controller: between(110, width * 0.14, 160), agent: between(130, width * 0.17, 200), device: between(170, width * 0.22, 270) };
  const x = { bus: PAD + wide.controller + 24 };
  x.agent = x.bus + BUS + 24;
  x.device = width - wide.device - 2 * PAD;
  const heights = blocks.map((block) => Math.max(BOX, block.lines.length * ROW) + GAP);
  const needed = Math.max(heights.reduce((sum, each) => sum + each, 0), (controllers.length * (BOX + GAP)), devices.length * (BOX + GAP) + GAP, 100);
  const height = needed + 2 * PAD;
  const boxes = [];
  const links = [];
  const lines = [];
  const stacked = (objects, kind, left, boxWidth) => {
    let y = (height - objects.length * (BOX + GAP) + GAP) / 2;
    return objects.map((object) => {
      const box = { kind, object, x: left, y, width: boxWidth, height: BOX };
      y += BOX + GAP;
      boxes.push(box);
      return box;
    });
  };
  for (const box of stacked(controllers, "controller", PAD, wide.controller))
    links.push({ d: `M${box.x + box.width} ${box.y + BOX / 2} H${x.bus}`, cut: !box.object.alive });
  boxes.push({ kind: "bus", x: x.bus, y: PAD, width: BUS, height: height - 2 * PAD, upright: true });
  const spare = (needed - heights.reduce((sum, each) => sum + each, 0)) / blocks.length;
  const left = x.agent + wide.agent;
  const right = x.device - PAD;
  let top = PAD;
  blocks.forEach((block, index) => {
    const tall = heights[index] + spare;
    const middle = top + tall / 2;
    if (block.agent) {
      boxes.push({ kind: "agent", object: block.agent, x: x.agent, y: middle - BOX / 2, width: wide.agent, height: BOX });
      links.push({ d: `M${x.bus + BUS} ${middle} H${x.agent}`, cut: !block.agent.alive });
    }
    block.lines.forEach((line, number) => {
      const y = middle + (number - (block.lines.length - 1) / 2) * ROW;
      const textX = left + 56;
      lines.push({
        line,
        d: block.agent ? `M${left} ${middle} C${left + 28} ${middle} ${left + 20} ${y} ${left + 48} ${y} H${right}` : `M${textX - 8} ${y} H${right}`,
        x: textX,
        y: y + 4,
        text: thatFits(line.texts, right - textX - 16),
      });
    });
    top += tall;
  });
  stacked(devices, "device", x.device, wide.device);
  return { height, boxes, links, lines, frame: { x: right, y: PAD, width: width - right - 1, height: height - 2 * PAD } };
}

/** From top to bottom, for a phone: controllers, the message bus, agents with their lines below them, devices. */
function downwards({ controllers, devices, blocks }, width) {
  const boxes = [];
  const links = [];
  const lines = [];
  const half = (width - 2 * PAD - GAP) / 2;
  const rows = Math.ceil(controllers.length / 2);
  const busY = PAD + rows * (BOX + GAP) + PAD;
  controllers.forEach((object, index) => {
    const box = { kind: "controller", object, x: PAD + (index % 2) * (half + GAP), y: PAD + Math.floor(index / 2) * (BOX + GAP), width: half, height: BOX };
    boxes.push(box);
    links.push({ d: `M${box.x + half / 2} ${box.y + BOX} V${busY}`, cut: !object.alive });
  });
  boxes.push({ kind: "bus", x: PAD, y: busY, width: width - 2 * PAD, height: BUS });
  const rail = width - 22; // down which all lines go
  const agentX = 28;
  let y = busY + BUS + GAP;
  const laid = [];
  for (const block of blocks) {
    if (block.agent) {
      boxes.push({ kind: "agent", object: block.agent, x: agentX, y, width: rail - agentX - 34, height: BOX });
      links.push({ d: `M14 ${busY + BUS} V${y + BOX / 2} H${agentX}`, cut: !block.agent.alive });
      y += BOX;
    }
    for (const line of block.lines) {
      const middle = y + ROW / 2 + 2;
      const from = block.agent ? `M${agentX + 12} ${y - (block.lines.indexOf(line) ? ROW / 2 - 2 : 0)} V${middle}` : `M${agentX + 12} ${middle}`;
      laid.push({ line, from: `${from} H${rail}`, x: agentX + 26, y: middle + 4, text: thatFits(line.texts, rail - agentX - 40) });
      y += ROW;
    }
    y += GAP;
  }
  const frame = { x: PAD, y, width: width - 2 * PAD, height: devices.length * (BOX + GAP) + GAP };
  for (const { from, ...rest } of laid) lines.push({ ...rest, d: `${from} V${frame.y}` });
  devices.forEach((object, index) => boxes.push({ kind: "device", object, x: 2 * PAD, y: y + GAP + index * (BOX + GAP), width: width - 4 * PAD, height: BOX }));
  return { height: y + frame.height + PAD, boxes, links, lines, frame };
}
