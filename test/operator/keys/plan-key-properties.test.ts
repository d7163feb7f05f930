// Can a rotation refuse anybody, lose the present key, or go on for ever? Two operators with clocks that are off, stale views,
// lost answers, deaths between any two writes, and gateways that take tables when they like: played by the real plan over
// the real compile.

import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KeyEntry } from '../../../core/contract/routing-table.ts';
import { type Compile, createCompiler } from '../../../operator/compile/compile.ts';
import { type KeyPlan, planKeySecret } from '../../../operator/keys/plan-key.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';
import { issuedSecretName } from '../../../operator/resources/issued-secret.ts';
import type { SecretRecord } from '../../../operator/watch/snapshot.ts';
import { runs } from '../../support/runs.ts';
import { apiKey, snapshot } from '../make.ts';

const MINUTE_MS = 60_000;
const BEGIN_MS = Date.parse('2026-06-01T00:00:00Z');
const OVERLAP_MS = 30 * MINUTE_MS;

interface Operator {
  /** What its clock shows too much. */
  readonly skewMs: number;
  /** How far its watch has come in the history of the Secret. */
  seen: number;
  /** A write in flight, planned on that form of the Secret. */
  writing: { readonly plan: KeyPlan; readonly over: number } | undefined;
  /** The staged key that it has published, and since when. */
  staged: { readonly digest: string; readonly since: number } | undefined;
  compile: Compile;
}

interface Gateway {
  generation: number;
}

type Move =
  | { readonly do: 'trigger' }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'see' | 'plan' | 'write' | 'die' | 'lead'; readonly operator: 0 | 1 }
  | { readonly do: 'publish' }
  /** For a while nothing fails. */
  | { readonly do: 'calm' }
  | { readonly do: 'load'; readonly gateway: 0 | 1 };

const operator = fc.constantFrom(0 as const, 1 as const);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ do: 'trigger' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 4, 21, 26, 40) }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constantFrom('see' as const, 'plan' as const, 'write' as const),
      operator,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'lead' as const), operator }) },
  { weight: 8, arbitrary: fc.constant({ do: 'publish' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'calm' as const }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('load' as const),
      gateway: fc.constantFrom(0 as const, 1 as const),
    }),
  },
);

const worlds = fc.record({
  skews: fc.tuple(fc.constantFrom(-5, 0, 5), fc.constantFrom(-5, 0, 5)),
  hasInterval: fc.boolean(),
  moves: fc.array(move, { minLength: 20, maxLength: 120 }),
});

function play({
  skews,
  hasInterval,
  moves,
}: {
  skews: [number, number];
  hasInterval: boolean;
  moves: readonly Move[];
}) {
  let nowMs = BEGIN_MS;
  let trigger = 0;
  let keys = 0;
  let writes = 0;
  /** Every form that the Secret had; the place in it is its resourceVersion. */
  const history: (SecretRecord | undefined)[] = [undefined];
  const tables: (readonly KeyEntry[])[] = [[]];
  /** Until when each key that somebody could have read was promised to work. */
  const promised = new Map<string, number>();
  const operators = skews.map(
    (minutes): Operator => ({
      skewMs: minutes * MINUTE_MS,
      seen: 0,
      writing: undefined,
      staged: undefined,
      compile: createCompiler(),
    }),
  ) as [Operator, Operator];
  const gateways: [Gateway, Gateway] = [{ generation: 0 }, { generation: 0 }];
  let leader = operators[0];

  const object = () =>
    apiKey(
      {
        imports: undefined,
        rotation: {
          overlap: '30m',
          ...(trigger === 0 ? {} : { trigger: `t${trigger}` }),
          ...(hasInterval ? { interval: '1h' } : {}),
        },
      },
      { uid: 'u-1' },
    );
  const latest = () => history[history.length - 1];
  const works = (key: string, { generation }: Gateway) =>
    (tables[generation] ?? []).some(
      ({ sha256, notAfterMs }) =>
        sha256 === hash('sha256', key) && (notAfterMs === undefined || nowMs < notAfterMs),
    );

  function plan(one: Operator): KeyPlan {
    const parsed = parseApiKey(object());
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return planKeySecret({
      apiKey: parsed.value,
      secret: history[one.seen],
      keyPrefix: 'psk_',
      baseUrl: undefined,
      nowMs: nowMs + one.skewMs,
      lastVersion: 0,
      isOut: (key) =>
        one.staged?.digest === hash('sha256', key) &&
        gateways.every(({ generation }) => generation >= (one.staged?.since ?? Number.POSITIVE_INFINITY)),
      makeKey: () => `psk_${String(++keys).padStart(49, '0')}`,
    });
  }

  /** What the API server makes of it. */
  function write({ plan: planned, over }: NonNullable<Operator['writing']>): void {
    if (planned.type === 'create') {
      if (latest() !== undefined) return;
      const { owners, ...fields } = planned.secret;
      const name = issuedSecretName({
        metadata: { namespace: 'team-a', name: 'bot' },
        spec: { disabled: false },
      });
      history.push({ namespace: 'team-a', name, type: 'Opaque', ...fields, owners });
    } else if (planned.type === 'change') {
      const before = history[over];
      if (over !== history.length - 1 || before === undefined) return;
      const { labels, annotations, data, owners } = planned.change;
      history.push({
        ...before,
        labels: patched(before.labels, labels),
        annotations: patched(before.annotations, annotations),
        data: patched(before.data, data),
        ...(owners === undefined ? {} : { owners }),
      });
    } else return;
    writes += 1;
    note();
  }

  /** Clients read what is there. A key that takes over is good from that moment on. */
  function note(): void {
    const record = latest();
    const { apiKey: present, previousApiKey: previous } = record?.data ?? {};
    if (present !== undefined) promised.set(present, Number.POSITIVE_INFINITY);
    const notAfter = record?.annotations['penstock.dev/previous-not-after'];
    if (previous !== undefined && notAfter !== undefined) promised.set(previous, Date.parse(notAfter));
  }

  function publish(): void {
    const secret = history[leader.seen];
    const { table, verdicts } = leader.compile(
      snapshot({ apiKeys: [object()], secrets: secret === undefined ? [] : [secret] }),
      nowMs + leader.skewMs,
    );
    tables.push(table.keys);
    const verdict = verdicts[0];
    const digest = verdict?.kind === 'ApiKey' ? verdict.next : undefined;
    if (digest === undefined) leader.staged = undefined;
    else if (leader.staged?.digest !== digest) leader.staged = { digest, since: tables.length - 1 };
  }

  function move(next: Move): void {
    switch (next.do) {
      case 'trigger':
        trigger += 1;
        return;
      case 'wait':
        nowMs += next.minutes * MINUTE_MS;
        return;
      case 'publish':
        publish();
        return;
      case 'calm':
        calm();
        return;
      case 'load':
        gateways[next.gateway].generation = tables.length - 1;
        return;
      case 'see': {
        const one = operators[next.operator];
        one.seen = Math.min(one.seen + 1, history.length - 1);
        return;
      }
      case 'plan': {
        const one = operators[next.operator];
        one.writing = { plan: plan(one), over: one.seen };
        return;
      }
      case 'write': {
        // Its answer is lost as often as not: nothing hangs on it. It may come again, too.
        const { writing } = operators[next.operator];
        if (writing !== undefined) write(writing);
        return;
      }
      case 'die': {
        const one = operators[next.operator];
        one.writing = undefined;
        one.staged = undefined;
        one.compile = createCompiler();
        return;
      }
      case 'lead':
        // A lease takes longer to pass on than a watch lags.
        leader = operators[next.operator];
        leader.seen = history.length - 1;
        publish();
        return;
    }
  }

  /** Both know the first key: what a rotation does is in question here, not how a key comes to be. */
  function issue(): void {
    write({ plan: plan(leader), over: 0 });
    leader.seen = history.length - 1;
    publish();
    for (const gateway of gateways) gateway.generation = tables.length - 1;
  }

  function check(): void {
    const record = latest();
    expect(record?.data.apiKey).toMatch(/^psk_/);
    for (const [key, untilMs] of promised) {
      if (nowMs >= untilMs) continue;
      expect(gateways.map((gateway) => works(key, gateway))).toEqual([true, true]);
    }
    for (const gateway of gateways) {
      expect((tables[gateway.generation] ?? []).length).toBeLessThanOrEqual(2);
    }
  }

  /** Nothing fails any more: one leader, whose watch is up to date, and gateways that follow. */
  function calm(): number {
    const before = writes;
    for (let round = 0; round < 12; round += 1) {
      leader.seen = history.length - 1;
      publish();
      for (const gateway of gateways) gateway.generation = tables.length - 1;
      check();
      const planned = plan(leader);
      if (planned.type === 'nothing') return writes - before;
      write({ plan: planned, over: leader.seen });
      check();
    }
    throw new Error('it goes on and on');
  }

  issue();
  check();
  for (const next of moves) {
    move(next);
    check();
  }
  return {
    calm,
    check,
    wait: (ms: number) => {
      nowMs += ms;
    },
    latest,
    works: (key: string) => gateways.map((gateway) => works(key, gateway)),
    promised,
  };
}

function patched(
  before: Readonly<Record<string, string>>,
  change: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const after = { ...before };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete after[name];
    else after[name] = value;
  }
  return after;
}

test.each([
  [-5, 5],
  [5, -5],
  [5, 5],
  [-5, -5],
])('clocks that are %i and %i minutes off end no key early', (...skews) => {
  const minute: Move[] = [
    { do: 'wait', minutes: 1 },
    { do: 'lead', operator: 0 },
    { do: 'load', gateway: 0 },
    { do: 'calm' },
    { do: 'lead', operator: 1 },
    { do: 'load', gateway: 1 },
    { do: 'calm' },
  ];
  const minutes = Array.from({ length: 90 }, () => minute).flat();
  // By trigger, and an hour later by the interval.
  const { latest, promised, works } = play({
    skews,
    hasInterval: true,
    moves: [{ do: 'lead', operator: 0 }, { do: 'trigger' }, { do: 'calm' }, ...minutes],
  });
  expect(promised.size).toBe(3);
  const [first = ''] = promised.keys();
  expect(works(first)).toEqual([false, false]);
  expect(works(latest()?.data.apiKey ?? '')).toEqual([true, true]);
});

test('no key is refused before its end, after any failures, and few writes lead to the final state', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const { calm, wait, latest, works, promised } = play(world);
      // Retire what is over, stage, promote: no more is ever in progress at one time.
      expect(calm()).toBeLessThanOrEqual(3);
      // Beyond the overlap on every clock: one more rotation may have waited for that.
      for (let round = 0; round < 2; round += 1) {
        wait(OVERLAP_MS + 11 * MINUTE_MS);
        expect(calm()).toBeLessThanOrEqual(3);
      }
      const data = latest()?.data ?? {};
      expect(data).not.toHaveProperty('nextApiKey');
      for (const key of promised.keys()) {
        const isHeld = key === data.apiKey || key === data.previousApiKey;
        if (!isHeld) expect(works(key)).toEqual([false, false]);
      }
    }),
    { numRuns: runs(200, 4) },
  );
});
