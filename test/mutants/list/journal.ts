// Which safeguards of the journal are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const journal: readonly Mutant[] = [
  {
    name: 'a line that a crash left half is nobody’s record',
    file: 'gateway/meter/journal-folder.ts',
    from: 'if (whole < size) ftruncateSync(file, whole);\n      return whole;',
    to: 'return size;',
    tests: ['test/gateway/meter/journal.test.ts'],
  },
  {
    name: 'a group that failed half-way is cut off before it is written again',
    file: 'gateway/meter/journal.ts',
    from: 'if (size > this.written) await file.truncate(this.written);\n      else this.written = size;',
    to: 'this.written = size;',
    tests: ['test/gateway/meter/journal.test.ts'],
  },
  {
    name: 'a group that could not be written is kept',
    file: 'gateway/meter/journal.ts',
    from: 'group.putBack();',
    to: '',
    tests: ['test/gateway/meter/journal.test.ts'],
  },
  {
    name: 'an attempt stands in the journal once',
    file: 'gateway/meter/journal.ts',
    from: '  append(record: LedgerRecord): void {\n    this.underWay.end(record.id);',
    to: '  append(record: LedgerRecord): void {\n    this.underWay.end(record.id);\n    this.waiting.add(sealLine(JSON.stringify(record)));',
    tests: ['test/flow/killed-gateway/journal.test.ts'],
  },
  {
    name: 'a record waits for its group no longer than stated',
    file: 'gateway/meter/journal.ts',
    from: 'const groupMs = 100;',
    to: 'const groupMs = 60_000;',
    tests: ['test/gateway/meter/journal.test.ts'],
  },
  {
    name: 'an attempt that has its own record has no other behind a crash',
    file: 'gateway/meter/journal.ts',
    from: 'records.filter(({ id }) => !known.has(id))',
    to: 'records',
    tests: ['test/gateway/meter/under-way.test.ts'],
  },
  {
    name: 'an attempt has ended with the group of its record, and not before',
    file: 'gateway/meter/under-way.ts',
    from: 'const lines = isWhole ? [] : this.ended',
    to: 'const lines = isWhole ? [] : []',
    tests: ['test/gateway/meter/under-way.test.ts'],
  },
  {
    name: 'a folder that is full makes room',
    file: 'gateway/meter/journal.ts',
    from: 'this.state.full.length > this.fullMax',
    to: 'this.state.full.length > 1_000_000',
    tests: ['test/gateway/meter/full-journal.test.ts'],
  },
  {
    name: 'a process that goes waits for its reader',
    file: 'gateway/meter/journal.ts',
    from: 'if (this.taken) await this.untilTaken(patienceMs);',
    to: '',
    tests: ['test/gateway/meter/full-journal.test.ts'],
  },
  {
    name: 'a gateway that goes hands its records over',
    file: 'gateway/start.ts',
    from: 'await options.exchange?.journal.handOver?.(handOverMs);',
    to: '',
    tests: ['test/gateway/process/table-secret.test.ts'],
  },
  {
    name: 'a disk that is full at the start keeps no gateway from serving',
    file: 'gateway/meter/journal.ts',
    from: "new Set(['ENOSPC', 'EDQUOT', 'EROFS'])",
    to: 'new Set<string>()',
    tests: ['test/flow/full-disk.test.ts'],
  },
  {
    name: 'a line that is not as it was written is no money',
    file: 'gateway/meter/sealed-line.ts',
    from: "=== Number.parseInt(seal[1] ?? '', 16)",
    to: '>= 0',
    tests: ['test/gateway/meter/sealed-line.test.ts'],
  },
  {
    name: 'what has no price serves nobody where the route denies it',
    file: 'gateway/pipeline/route-exchange.ts',
    from: "if (route.entry.unpriced !== 'Deny') return plan;",
    to: 'return plan;',
    tests: ['test/flow/unpriced.test.ts'],
  },
  {
    name: 'a failed attempt is the platform’s cost and never the tenant’s',
    file: 'gateway/meter/ledger.ts',
    from: "isWaste(facts) ? 'platform' : 'tenant'",
    to: "'tenant'",
    tests: ['test/gateway/meter/ledger-record.test.ts'],
  },
];
