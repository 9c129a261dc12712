// The data of the page. A "state" event replaces it; a "delta" event adds new entries.

const MOST_SAMPLES = 600;
const MOST_ENTRIES = 50;
const MOST_DRIFTS = 100;

export function applied(known, kind, data) {
  if (kind === "state" || known === null) return data;
  const samples = [...known.samples, ...data.samples].slice(-MOST_SAMPLES);
  return data.streams === undefined ? detail(known, data, samples) : overview(known, data, samples);
}

function overview(known, data, samples) {
  const changed = new Map(data.streams.map((row) => [row.name, row]));
  return { ...data, samples, streams: known.streams.map((row) => changed.get(row.name) ?? row) };
}

function detail(known, data, samples) {
  const next = {
    ...data,
    samples,
    quarantine: joined(known.quarantine, data.quarantine, MOST_ENTRIES),
    members: {},
  };
  for (const [name, member] of Object.entries(data.members)) {
    const before = known.members[name];
    next.members[name] = {
      ...member,
      drifts: joined(before.drifts, member.drifts, MOST_DRIFTS),
      curve: curve(before.curve, member.curve),
    };
  }
  if (data.route) {
    const promotions = joined(known.route.promotions, data.route.promotions, MOST_ENTRIES);
    next.route = { ...data.route, promotions };
  }
  return next;
}

function joined(before, after, most) {
  return [...before, ...after].slice(-most);
}

// The server drops every second point of a full curve; the points on this page follow the same rule.
function curve(before, after) {
  const kept =
    before.every === after.every ? before.points : before.points.filter((point) => point[0] % after.every === 0);
  return { every: after.every, points: [...kept, ...after.points] };
}
