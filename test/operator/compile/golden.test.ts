// Does a set of manifests still give the table and the verdicts that we once read and found right?
//
// `<name>.in.yaml` holds settings and the time in its first document, then manifests; `<name>.out.yaml` what
// comes of them. PENSTOCK_UPDATE_GOLDEN=1 writes the out files again; read the difference before you commit it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { parseRoutingTable, TABLE_FORMAT } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { PlatformSettings, RetiredKey, Snapshot } from '../../../operator/watch/snapshot.ts';
import { PLATFORM, type RawManifest, snapshotOf } from '../make.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/compile');
const isUpdate = process.env.PENSTOCK_UPDATE_GOLDEN === '1';
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.in.yaml'))
  .map((file) => file.slice(0, -'.in.yaml'.length))
  .sort();

interface Settings {
  readonly now: string;
  readonly platform?: Partial<PlatformSettings>;
  readonly retiredKeys?: readonly RetiredKey[];
}

function read(name: string): { nowMs: number; snapshot: Snapshot } {
  const text = readFileSync(join(FOLDER, `${name}.in.yaml`), 'utf8');
  const [settings, ...manifests] = parseAllDocuments(text).map((document) => document.toJS() as unknown);
  const { now, platform, retiredKeys = [] } = settings as Settings;
  return {
    nowMs: Date.parse(now),
    snapshot: { ...snapshotOf(manifests as RawManifest[], { ...PLATFORM, ...platform }), retiredKeys },
  };
}

describe('manifests become a table and verdicts', () => {
  test('there are cases', () => {
    expect(names.length).toBeGreaterThanOrEqual(15);
  });

  test.each(names)('%s', (name) => {
    const { snapshot, nowMs } = read(name);
    const { table, verdicts } = createCompiler()(snapshot, nowMs);
    const path = join(FOLDER, `${name}.out.yaml`);
    const out = stringify({ table, verdicts }, { lineWidth: 0, aliasDuplicateObjects: false });
    if (isUpdate) writeFileSync(path, out);
    expect(out).toBe(readFileSync(path, 'utf8'));
  });

  test.each(names)('%s gives a table that gateways accept', (name) => {
    const { snapshot, nowMs } = read(name);
    const { table } = createCompiler()(snapshot, nowMs);
    const whole = { ...table, format: TABLE_FORMAT, minReader: 1, epoch: 1, generation: 1 };
    expect(parseRoutingTable(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
  });

  test.each(names)('%s has a message for every condition that is not good', (name) => {
    const { snapshot, nowMs } = read(name);
    for (const { conditions } of createCompiler()(snapshot, nowMs).verdicts) {
      for (const { status, message } of conditions) if (status !== 'True') expect(message).not.toBe('');
    }
  });
});
