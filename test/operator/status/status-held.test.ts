// An object serves in its last good form: what do its status and its events say, so that nobody takes that for the present one?

import { expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { createLastForms } from '../../../operator/hold/last-forms.ts';
import { eventsFor } from '../../../operator/status/events.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { provider, secret, snapshot } from '../make.ts';
import { look, NOW_MS, say, withStatus, written } from './status-support.ts';

const HOUR_MS = 3_600_000;
const good = provider({}, { generation: 3 });
const bad: RawObject = { ...provider({ bogus: 1 }, { generation: 4 }) };

/** A term of a leader that finds a table made of `good`, and objects as they are given. */
function judgeHeld(object: RawObject, nowMs = NOW_MS, secrets = [secret()]): Verdict {
  const compile = createCompiler();
  const { table } = compile(snapshot({ providers: [good], secrets: [secret()] }), nowMs);
  const forms = createLastForms({ holdMs: HOUR_MS, objectOf: () => object });
  const [verdict] = compile(snapshot({ providers: [object], secrets }), nowMs, forms.of(table)).verdicts;
  if (verdict === undefined) throw new Error('no verdict');
  return verdict;
}

function ready(): RawObject {
  const [verdict] = createCompiler()(snapshot({ providers: [good], secrets: [secret()] }), NOW_MS).verdicts;
  if (verdict === undefined) throw new Error('no verdict');
  return withStatus(good, written(look(good, verdict)));
}

const served = ready();
const wrong: RawObject = { ...bad, status: served.status };
const said = (status: ReturnType<typeof written>, type: string) =>
  status.conditions?.find((one) => one.type === type);

test('the accepted form stays reported at its own generation; the error is in Degraded; kstatus reads a failure', () => {
  const decision = look(wrong, judgeHeld(wrong));
  const status = written(decision);
  expect(status.observedGeneration).toBe(4);
  for (const type of ['Accepted', 'Programmed', 'Ready']) {
    expect(said(status, type)).toMatchObject({ status: 'True', observedGeneration: 3 });
  }
  expect(said(status, 'Degraded')).toMatchObject({
    status: 'True',
    reason: 'LastKnownGood',
    observedGeneration: 4,
    lastTransitionTime: '2026-06-01T00:00:00Z',
    message: expect.stringMatching(/^generation 3 serves until 2026-06-01T01:00:00Z, .*spec\.bogus/),
  });
  expect(said(status, 'Stalled')).toMatchObject({ status: 'True', reason: 'LastKnownGood' });
  if (decision.type !== 'write') throw new Error('nothing was written');
  expect(eventsFor(decision.transitions)).toMatchObject([{ type: 'Warning', reason: 'LastKnownGood' }]);
});

test('after its Secret is deleted, the reference is reported as broken and the object as ready', () => {
  const object: RawObject = { ...good, status: served.status };
  const status = written(look(object, judgeHeld(object, NOW_MS, [])));
  expect(say(status, 'ResolvedRefs')).toMatch(/^False SecretNotFound/);
  expect(say(status, 'Ready')).toBe('True Programmed');
  expect(say(status, 'Degraded')).toMatch(/^True LastKnownGood: generation 3 serves until/);
});

test('a new leader reads the start of the hour from the status, and writes nothing', () => {
  const held = withStatus(wrong, written(look(wrong, judgeHeld(wrong))));
  const later = NOW_MS + 1_234_000;
  const verdict = judgeHeld(held, later);
  expect(verdict.held).toEqual({ sinceMs: NOW_MS, untilMs: NOW_MS + HOUR_MS, generation: 3 });
  expect(look(held, verdict, { nowMs: later })).toEqual({ type: 'same' });
  expect(judgeHeld(held, NOW_MS + HOUR_MS).held).toBeUndefined();
});

test('also if it was degraded for another reason before', () => {
  const other = {
    type: 'Degraded',
    status: 'True',
    reason: 'SecretNotFound',
    message: 'one of two',
    lastTransitionTime: '2026-05-01T00:00:00Z',
  };
  const before = served.status as { conditions: object[] };
  const status = { ...before, conditions: [...before.conditions, other] };
  const object: RawObject = { ...bad, status };
  const next = written(look(object, judgeHeld(object)));
  expect(said(next, 'Degraded')?.lastTransitionTime).toBe('2026-06-01T00:00:00Z');
});

test('after the hour it is refused, with a warning; after its repair, an event reports that', () => {
  const held = withStatus(wrong, written(look(wrong, judgeHeld(wrong))));
  const nowMs = NOW_MS + HOUR_MS;
  const over = look(held, judgeHeld(held, nowMs), { nowMs });
  if (over.type !== 'write') throw new Error('nothing was written');
  expect(say(over.status, 'Accepted')).toMatch(/^False Invalid/);
  expect(say(over.status, 'Ready')).toMatch(/^False Invalid/);
  expect(said(over.status, 'Degraded')).toBeUndefined();
  expect(eventsFor(over.transitions)).toMatchObject([
    { type: 'Warning', reason: 'LastKnownGood', note: expect.stringContaining('left service') },
    { type: 'Warning', reason: 'Invalid' },
  ]);

  const mended: RawObject = { ...held, metadata: { ...good.metadata, generation: 5 }, spec: good.spec };
  const right = look(mended, judgeHeld(mended));
  if (right.type !== 'write') throw new Error('nothing was written');
  expect(said(right.status, 'Stalled')).toBeUndefined();
  expect(said(right.status, 'Ready')).toMatchObject({ status: 'True', observedGeneration: 5 });
  expect(eventsFor(right.transitions)).toMatchObject([{ type: 'Normal', reason: 'LastKnownGood' }]);
});

test('an object that was created again has no status, and no claim on its earlier form', () => {
  expect(judgeHeld(bad)).toMatchObject({ isInTable: false });
});
