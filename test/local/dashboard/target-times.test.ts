// Since when does a target of a route fail, as its status in local mode says?

import { expect, test } from 'vitest';
import { type StatusFacts, statusOf } from '../../../local/dashboard/status.ts';
import type { ModelRouteVerdict } from '../../../operator/compile/verdict.ts';
import type { TargetTrouble } from '../../../operator/status/settle-targets.ts';

const startMs = Date.parse('2026-11-28T10:00:00Z');
const verdict = {
  kind: 'ModelRoute',
  namespace: 'default',
  name: 'chat',
  generation: 1,
  isInTable: true,
  conditions: [],
  targets: [{ name: 'main', state: 'Ready', upstream: { provider: 'default/p', model: 'm' } }],
} as unknown as ModelRouteVerdict;
const facts = (cause?: string): StatusFacts => ({
  ...{ verdict, isInUse: true, tableGeneration: 1, problems: [], health: undefined, spend: undefined },
  troubles: new Map<string, TargetTrouble>(
    cause === undefined
      ? []
      : [
          [
            'main',
            { kind: 'failing', calls: { state: 'failing', calls: 1, failed: 1, cause, sinceMs: startMs } },
          ],
        ],
  ),
});

test('since it began to fail, also where it fails for another reason later, and until it answers', () => {
  let status: Record<string, unknown> | undefined;
  const at = (seconds: number, cause?: string) => {
    status = statusOf(facts(cause), status, startMs + seconds * 1_000);
    const [target] = status.targets as { readonly message?: string; readonly lastTransitionTime?: string }[];
    return [target?.lastTransitionTime, target?.message?.split(': ')[1]?.split(';')[0]];
  };
  expect(at(1, 'status_500')).toEqual(['2026-11-28T10:00:01Z', 'HTTP 500']);
  expect(at(60, 'status_503')).toEqual(['2026-11-28T10:00:01Z', 'HTTP 503']);
  expect(at(90)).toEqual(['2026-11-28T10:01:30Z', undefined]);
});
