// Which safeguards of limits are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

const LIMITS = 'test/gateway/limits/limits.test.ts';
const LIMITER = 'test/gateway/limits/limiter.test.ts';
const QUOTAS = 'test/gateway/limits/quotas.test.ts';
const TWINS = 'test/gateway/limits/own-memory-and-store.test.ts';
const BUDGETS = 'test/gateway/limits/budgets.test.ts';
const SHARES = 'test/gateway/limits/budget-shares.test.ts';
const IN_STORE = 'test/gateway/limits/budgets-in-store.test.ts';
const DOWN = 'test/gateway/limits/store-down.test.ts';

export const limits: readonly Mutant[] = [
  {
    name: 'a request is settled however it ends',
    file: 'gateway/pipeline.ts',
    from: 'this.granted?.settle({ tokens',
    to: 'if (this.status === 200) this.granted?.settle({ tokens',
    tests: [QUOTAS],
  },
  {
    name: 'an attempt is settled',
    file: 'gateway/pipeline/call-job.ts',
    from: 'else granted?.settle(',
    to: 'else if (record.failure !== undefined) granted?.settle(',
    tests: [QUOTAS],
  },
  {
    name: 'a quota that is used up passes a candidate over',
    file: 'gateway/pipeline/call-job.ts',
    from: '&& !isFull(position),',
    to: '|| isFull(position),',
    tests: [QUOTAS],
  },
  {
    name: 'what was full for one call of a request is asked again for the next',
    file: 'gateway/pipeline.ts',
    from: 'this.full.clear();',
    to: '',
    tests: ['test/flow/several-calls.test.ts'],
  },
  {
    name: 'all limits or none',
    file: 'gateway/limits/own-memory.ts',
    from: 'const granted = isGranted(claims, readings);',
    to: 'const granted = isGranted(claims.slice(0, 1), readings);',
    tests: [TWINS],
  },
  {
    name: 'the store takes from all subjects or from none',
    file: 'gateway/limits/scripts.ts',
    from: 'if lack > 1e-6 then granted = 0 end',
    to: 'if lack > 1e-6 and i == 1 then granted = 0 end',
    tests: [TWINS],
  },
  {
    name: 'what is settled twice is settled once',
    file: 'gateway/limits/scripts.ts',
    from: "if redis.call('ZREM', places, ask.id) == 1 then\n    for",
    to: "redis.call('ZREM', places, ask.id)\n  if true then\n    for",
    tests: [TWINS],
  },
  {
    name: 'what was used beyond the estimate is owed',
    file: 'gateway/limits/meter.ts',
    from: 'return Math.max(used, Math.min(used + change, capacity * (1 + owedMax)));',
    to: 'return used;',
    tests: [LIMITS, TWINS],
  },
  {
    name: 'a share lets one through',
    file: 'gateway/limits/subject.ts',
    from: 'capacity: Math.max(1, limit / pods),',
    to: 'capacity: limit / pods / 2,',
    tests: [LIMITER],
  },
  {
    name: 'what is under way keeps its place',
    file: 'gateway/limits/limiter.ts',
    from: 'held.flatMap(([id, { claims, budgets }]) =>',
    to: 'held.slice(0, 0).flatMap(([id, { claims, budgets }]) =>',
    tests: [LIMITER],
  },
  {
    name: 'what is never settled is given up',
    file: 'gateway/limits/limiter.ts',
    from: 'if (untilMs <= nowMs) this.end(id, () => 0, 0);',
    to: 'if (untilMs < 0) this.end(id, () => 0, 0);',
    tests: [LIMITER],
  },
  {
    name: 'nobody waits for a store that is away',
    file: 'gateway/limits/guarded-store.ts',
    from: 'if (this.isOpen) this.turn(false, why);',
    to: '',
    tests: [DOWN],
  },
  {
    name: 'nothing passes without the store where it is set so',
    file: 'gateway/limits/limiter.ts',
    from: "return this.parts.onStoreError === 'Deny'",
    to: 'return this.held.size < 0',
    tests: [DOWN],
  },
  {
    name: 'what the store lets through is used of the share',
    file: 'gateway/limits/limiter.ts',
    from: 'if (isElsewhere) this.useShare(judged, { requests, tokens: 0 });',
    to: '',
    tests: [DOWN],
  },
  {
    name: 'the store hears later what it did not hear',
    file: 'gateway/limits/guarded-store.ts',
    from: 'for (const settlement of this.unsettled.values()) this.settle(settlement);',
    to: '',
    tests: [DOWN],
  },
  {
    name: 'a budget that is spent refuses',
    file: 'gateway/limits/budget.ts',
    from: "if (spent >= limit) return 'exhausted';",
    to: "if (spent > 2 * limit) return 'exhausted';",
    tests: [BUDGETS],
  },
  {
    name: 'what requests under way may cost is set aside',
    file: 'gateway/limits/budget.ts',
    from: 'spent + held + amount <= limit',
    to: 'spent + amount <= limit',
    tests: [BUDGETS],
  },
  {
    name: 'a request is settled with what it cost',
    file: 'gateway/pipeline.ts',
    from: 'this.picodollars += costOfCaller(record);',
    to: 'this.picodollars += 0;',
    tests: [BUDGETS],
  },
  {
    name: 'what the platform pays is charged to no budget',
    file: 'gateway/pipeline/budgets.ts',
    from: "return payer === 'tenant' ?",
    to: "return payer !== 'own-key' ?",
    tests: ['test/gateway/pipeline/budgets.test.ts'],
  },
  {
    name: 'what has no price is not paid from a budget',
    file: 'gateway/pipeline/route-exchange.ts',
    from: 'budgetSubjects(exchange).length === 0',
    to: 'true',
    tests: [BUDGETS],
  },
  {
    name: 'of a budget a pod spends its share',
    file: 'gateway/limits/budget.ts',
    from: 'left / Math.max(1, pods)',
    to: 'left',
    tests: [SHARES],
  },
  {
    name: 'what was spent counts until the ledger tells of it',
    file: 'gateway/limits/own-budgets.ts',
    from: 'recordsBefore > records)',
    to: 'recordsBefore > records + 3)',
    tests: [SHARES],
  },
  {
    name: 'how far the ledger was in the journal is looked up before it is asked',
    file: 'gateway/limits/ledger-reader.ts',
    from: 'onSeen(seen);',
    to: 'onSeen(progress.appended());',
    tests: [SHARES],
  },
  {
    name: 'why the ledger is not heard is told, and not each second',
    file: 'gateway/limits/ledger-reader.ts',
    from: 'if (failure !== this.failure) onTurn',
    to: 'onTurn',
    tests: ['test/gateway/limits/ledger-reader.test.ts'],
  },
  {
    name: 'a gateway that has never heard the ledger says for how long',
    file: 'gateway/limits/ledger-reader.ts',
    from: 'this.knownAt ?? this.begunAt',
    to: 'this.knownAt',
    tests: ['test/gateway/limits/ledger-reader.test.ts'],
  },
  {
    name: 'who comes back waits for what was spent before',
    file: 'gateway/limits/ledger-reader.ts',
    from: 'if (seen >= this.leftBehind) {',
    to: 'if (seen >= -1) {',
    tests: [SHARES],
  },
  {
    name: 'places in the journal are not remembered without end',
    file: 'gateway/meter/taken-records.ts',
    from: 'if (this.marks.length === marksMax)',
    to: 'if (this.marks.length === -1)',
    tests: ['test/gateway/meter/taken-records.test.ts'],
  },
  {
    name: 'a store that forgets knows what the ledger knows',
    file: 'gateway/limits/scripts.ts',
    from: 'spent = math.max(spent, known)',
    to: 'spent = spent + 0',
    tests: [IN_STORE],
  },
  {
    name: 'what a killed gateway reserved comes back',
    file: 'gateway/limits/scripts.ts',
    from: "held = held - (tonumber(redis.call('HGET', levels, 'of.' .. id)) or 0)",
    to: 'held = held - 0',
    tests: [IN_STORE],
  },
  {
    name: 'the store sets aside what requests under way may cost',
    file: 'gateway/limits/scripts.ts',
    from: 'if others > 0 and judged + others + budget.amount > budget.limit then granted = 0 end',
    to: '',
    tests: [IN_STORE],
  },
  {
    name: 'what each gateway has not seen in the ledger counts for all',
    file: 'gateway/limits/scripts.ts',
    from: 'local judged = math.max(spent, reckoned)',
    to: 'local judged = spent',
    tests: [IN_STORE],
  },
  {
    name: 'what one gateway has heard of the ledger holds for all',
    file: 'gateway/limits/scripts.ts',
    from: "if all[i] == 'ledger' then known = math.max(known, tonumber(number))",
    to: "if all[i] == 'ledger' then known = told",
    tests: [IN_STORE],
  },
];
