// 100,000 spellings of known addresses, a quarter of them in `npm test`: each is judged as the number it represents. With connections, and
// held against the address library of another language: test/e2e/security.e2e.ts.

import { expect, test } from 'vitest';
import { judgeHost, parseAddressRules } from '../../../core/egress/address-rules.ts';
import { createRandom } from '../../security/random.ts';
import { runs } from '../../support/runs.ts';
import { nextSpelling, opened, readBack } from './spellings.ts';

const spellings = runs(100_000, 4);

test(`${spellings} spellings of IPv4 and IPv6 addresses are judged as the addresses themselves`, () => {
  const rules = parseAddressRules([{ cidr: opened, namespaces: ['team-a'] }]);
  const random = createRandom(20_260_901);
  const seen = { denied: 0, public: 0, allowlisted: 0 };
  for (let run = 0; run < spellings; run += 1) {
    const { value, text, expected } = nextSpelling(random);
    const verdict = judgeHost(rules, 'team-a', text);
    const reported = `run ${run}: ${JSON.stringify(text)} for ${value.toString(16)} gave ${JSON.stringify(verdict)}`;
    if (verdict.kind === 'name') throw new Error(`taken for a name, ${reported}`);
    if (verdict.kind !== expected) throw new Error(`expected ${expected}, ${reported}`);
    if (verdict.kind !== 'denied' && readBack(verdict.address) !== value)
      throw new Error(`misread, ${reported}`);
    seen[verdict.kind] += 1;
  }
  // Each verdict must have been met often, or the run proves nothing.
  expect(Math.min(seen.denied, seen.public, seen.allowlisted)).toBeGreaterThan(spellings / 100);
});
