// A provider that is reached by its name, and a resolver that can die: the scene of resolver-down.test.ts and of the long form.

import { expect } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import type { Wall } from '../support/wall.ts';
import { ask } from './ask.ts';
import { expectWhole, type Variant } from './fault-matrix.ts';
import type { Mode } from './faults.ts';
import type { House } from './house.ts';

export interface Resolver {
  /** For the age of its answers. */
  nowMs: number;
  isDead: boolean;
  questions: number;
}

export async function stageByName(
  house: House,
  dialect: DialectName,
): Promise<{ readonly rig: Rig; readonly wall: Wall; readonly resolver: Resolver }> {
  const resolver: Resolver = { nowMs: 5_000_000, isDead: false, questions: 0 };
  const wall = await house.wallThat({ type: 'answer' });
  const baseUrl = wall.baseUrl.replace('127.0.0.1', 'provider.example');
  const rig = await startRig(tableOf([{ baseUrl, dialects: [dialect] }]), {
    lookups: {
      nowMs: () => resolver.nowMs,
      resolve: async () => {
        resolver.questions += 1;
        if (resolver.isDead) throw Object.assign(new Error('down'), { code: 'EAI_AGAIN' });
        return ['127.0.0.1'];
      },
    },
  });
  house.onClose(() => rig.close());
  return { rig, wall, resolver };
}

/**
 * The resolver is dead for a minute, in which each request needs a connection of its own and all are answered. Gives the questions
 * that it left open.
 */
export async function minuteWithoutNames(
  house: House,
  { endpoint, upstream }: Variant,
  mode: Mode,
  times: number,
): Promise<number> {
  const { rig, wall, resolver } = await stageByName(house, upstream);
  const asked = { endpoint, isStream: mode === 'stream' };
  wall.script({ type: 'answer', afterwards: 'close' });
  expectWhole(await ask(rig, asked), mode);
  resolver.isDead = true;
  resolver.questions = 0;
  for (let n = 0; n < times; n++) {
    expectWhole(await ask(rig, asked), mode);
    resolver.nowMs += 60_000 / times;
  }
  expect(rig.records.map(({ outcome }) => outcome)).toEqual(Array(times + 1).fill('answered'));
  return resolver.questions;
}
