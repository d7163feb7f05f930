// A ledger that pulls the journals at the given ports of this machine into the given file: the parts of a real one that need no
// Kubernetes. After each page it says how many records of
// that port it has stored.

import { systemClock } from '../../../core/clock.ts';
import { openJournalClient } from '../../../ledger/ask-journal.ts';
import { startPulls } from '../../../ledger/pull.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import { benchToken } from './token.ts';

const [file = '', ...ports] = process.argv.slice(2);
const store = await openSqliteStore(file, (reason) => {
  throw new Error(reason);
});
const records = new Map<number, number>();
const pulls = startPulls({
  store,
  clock: systemClock,
  random: Math.random,
  ask: openJournalClient(systemClock).ask,
  tokenOf: () => benchToken,
  report: {
    taken({ port }, { added }) {
      const stored = (records.get(port) ?? 0) + added;
      records.set(port, stored);
      console.log(JSON.stringify({ port, records: stored }));
    },
    quarantined: (_, lines, reason) => console.error(`${lines} lines are no record: ${reason}`),
    restarted: () => {},
    failed: (_, reason) => console.error(reason),
    recovered: () => {},
  },
});
pulls.setPods(
  ports.map((port) => ({ uid: port, name: `gateway-${port}`, ip: '127.0.0.1', port: Number(port) })),
);
