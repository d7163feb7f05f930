// Which safeguards of the ledger are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

const store = ['test/ledger/store/store.test.ts'];
const pull = ['test/ledger/pull.test.ts'];
const readApi = ['test/ledger/read-api.test.ts'];
const settleUsage = ['test/operator/usage/settle-usage.test.ts'];

export const ledger: readonly Mutant[] = [
  {
    name: 'a record that comes again adds nothing to the sums',
    file: 'ledger/store/sqlite-file.ts',
    from: 'if (Number(changes) > 0) added.push(',
    to: 'added.push(',
    tests: store,
  },
  {
    name: 'a record that comes again adds nothing to the sums in Postgres',
    file: 'ledger/store/postgres.ts',
    from: 'return sequence === undefined ? [] : [{ ...row, sequence }];',
    to: 'return [{ ...row, sequence: sequence ?? 0 }];',
    tests: store,
  },
  {
    name: 'money is added up in two whole numbers',
    file: 'ledger/store/row.ts',
    from: 'return { high: Math.floor(picodollars / lowPerHigh), low: picodollars % lowPerHigh };',
    to: 'return { high: 0, low: picodollars };',
    tests: store,
  },
  {
    name: 'a provider that tells absurd counts stops no journal',
    file: 'ledger/store/row.ts',
    from: 'const tokensMax = 1_000_000_000;',
    to: 'const tokensMax = Number.MAX_SAFE_INTEGER;',
    tests: store,
  },
  {
    name: 'what the platform pays is no spend of a key',
    file: 'ledger/store/row.ts',
    from: "const isPaid = row.payer === 'tenant';",
    to: 'const isPaid = true;',
    tests: store,
  },
  {
    name: 'a record that comes when its days have gone is not counted again',
    file: 'ledger/store/sqlite-file.ts',
    from: 'if (row.day < purgedBefore) {',
    to: "if (purgedBefore === '-') {",
    tests: store,
  },
  {
    name: 'a request whose next attempt answered has not failed',
    file: 'ledger/store/request-queries.ts',
    from: 'AND NOT EXISTS (SELECT 1',
    to: 'OR NOT EXISTS (SELECT 1',
    tests: ['test/ledger/store/requests.test.ts'],
  },
  {
    name: 'tables of a newer program are refused',
    file: 'ledger/store/schema.ts',
    from: 'version < 0 || version > SCHEMA_VERSION)',
    to: 'version < 0)',
    tests: ['test/ledger/store/opening.test.ts'],
  },
  {
    name: 'a page is acknowledged when it is stored, and not before',
    file: 'ledger/pull.ts',
    from: 'const taken = await store.take({ source: pod.uid, cursor, entries, asides }, clock.wallMs());',
    to: 'const taken = await store.take({ source: pod.uid, cursor, entries, asides }, clock.wallMs()).catch(() => ({ added: 0, duplicates: 0, asides: 0 }));',
    tests: pull,
  },
  {
    name: 'a journal that is another one is read from its beginning',
    file: 'ledger/pull.ts',
    from: 'report.begunAnew(pod);\n      return undefined;',
    to: 'report.begunAnew(pod);\n      return after;',
    tests: pull,
  },
  {
    name: 'a pod that lets nobody wait is not asked without end',
    file: 'ledger/pull.ts',
    from: 'const quietMs = 250;',
    to: 'const quietMs = 0;',
    tests: pull,
  },
  {
    name: 'a line that is no record keeps none of the others back',
    file: 'ledger/read-page.ts',
    from: "return 'it is not JSON';",
    to: "throw new Error('it is not JSON');",
    tests: pull,
  },
  {
    name: 'events are sent again until they are taken',
    file: 'ledger/export/send-events.ts',
    from: 'if (answer.status >= 200 && answer.status < 300) {',
    to: 'if (answer.status >= 200) {',
    tests: ['test/ledger/export/send-events.test.ts'],
  },
  {
    name: 'spend is shown to whoever may see it',
    file: 'ledger/read-api/access.ts',
    from: "return isAllowed ? 'allowed' : 'refused';",
    to: "return isAllowed ? 'allowed' : 'allowed';",
    tests: readApi,
  },
  {
    name: 'tenants are not told which providers are behind a route',
    file: 'ledger/read-api/read-api.ts',
    from: 'if (namespace !== undefined && hidden !== undefined)',
    to: 'if (namespace === undefined && hidden !== undefined && hidden !== hidden)',
    tests: readApi,
  },
  {
    name: 'what keys have spent is told to who has the exchange token',
    file: 'ledger/read-api/read-api.ts',
    from: 'if (!timingSafeEqual(digest(given), digest(expected)))',
    to: 'if (!timingSafeEqual(digest(expected), digest(expected)))',
    tests: readApi,
  },
  {
    name: 'whoever knows more than this ledger is told to begin anew',
    file: 'ledger/read-api/spend-page.ts',
    from: 'if (last < after) return',
    to: 'if (last < 0) return',
    tests: readApi,
  },
  {
    name: 'a ledger that was begun anew in the place of another is asked from its beginning',
    file: 'operator/usage/spend-book.ts',
    from: 'ledger !== undefined && ledger !== page.ledger;',
    to: 'false;',
    tests: ['test/operator/usage/spend-book.test.ts'],
  },
  {
    name: 'what was spent in a period that is over is not spent in this one',
    file: 'operator/usage/spend-book.ts',
    from: 'use.since >= periodAt(period, nowMs).start ? use : NOTHING',
    to: 'use',
    tests: ['test/operator/usage/spend-book.test.ts'],
  },
  {
    name: 'five minutes lie between two writes of a usage',
    file: 'operator/usage/settle-usage.ts',
    from: 'if (crossings.length === 0 && nowMs < untilMs)',
    to: 'if (crossings.length === 0 && nowMs < 0)',
    tests: settleUsage,
  },
  {
    name: 'a budget that is passed does not wait for them',
    file: 'operator/usage/settle-usage.ts',
    from: 'if (crossings.length === 0 && nowMs < untilMs)',
    to: 'if (nowMs < untilMs)',
    tests: settleUsage,
  },
  {
    name: 'a budget that was told as passed is not told again',
    file: 'operator/usage/settle-usage.ts',
    from: 'if (level <= levelBefore) return [];',
    to: 'if (level === 0) return [];',
    tests: settleUsage,
  },
  {
    name: 'an amount is cut, so that a spend below its limit never looks as if it had reached it',
    file: 'operator/usage/dollars.ts',
    from: '(picodollars / picodollarsPerMicrodollar)',
    to: '((picodollars + 999_999n) / picodollarsPerMicrodollar)',
    tests: ['test/operator/usage/amounts.test.ts'],
  },
  {
    name: 'while what was spent is not known, what was said of budgets stands',
    file: 'operator/status/settle-budget.ts',
    from: 'return before && say(before.message);',
    to: 'return undefined;',
    tests: ['test/operator/usage/exhausted.test.ts'],
  },
];
