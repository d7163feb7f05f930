// Does the event of a ledger record say what the record says?

import { expect, test } from 'vitest';
import { type LedgerRecord, ledgerRecordSchema, usageSchema } from '../../../core/contract/ledger-record.ts';
import { usageEvent } from '../../../gateway/trace/usage-event.ts';
import { makeRecord } from '../../gateway/meter/make-facts.ts';

const catalog = { name: 'list', version: '0.1.8', provider: 'openai', model: 'gpt-5' };
const kinds = Object.keys(usageSchema.shape);
/** With every member that there is. */
const whole: LedgerRecord = ledgerRecordSchema.required().parse({
  ...makeRecord({
    call: 2,
    model: 'also-m',
    providerKey: 'first',
    failure: 'malformed',
    cause: 'the answer is HTML',
  }),
  usage: Object.fromEntries(kinds.map((kind, index) => [kind, 100 + index])),
  estimatedBy: 'characters',
  price: { input: 1, output: 2, source: 'catalog', catalog },
  costPicodollars: 7,
  owner: { name: 'Ada', email: 'ada@example.com', team: 'engines' },
  metadata: { project: 'notes' },
});

const attributesOf = (record: LedgerRecord) => usageEvent(record, undefined).attributes ?? {};
const eventName = (name: string) =>
  `penstock.usage.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;

test('every fact of a record is in its event, under the same names', () => {
  const { usage, price, owner, metadata, startedAt, ...facts } = whole;
  const attributes = attributesOf(whole);
  for (const [name, value] of Object.entries(facts)) expect(attributes[eventName(name)], name).toBe(value);
  for (const [kind, tokens] of Object.entries(usage))
    expect(attributes[eventName(`tokens.${kind}`)], kind).toBe(tokens);
});

test('a cost at a list price names the list and its version', () => {
  expect(attributesOf(whole)).toMatchObject({
    'penstock.usage.price_source': 'catalog',
    'penstock.usage.price_catalog': 'list',
    'penstock.usage.price_catalog_version': '0.1.8',
    'penstock.usage.price_catalog_model': 'openai/gpt-5',
  });
  const stated = attributesOf({ ...whole, price: { input: 1, output: 2, source: 'route' } });
  expect(stated['penstock.usage.price_source']).toBe('route');
  expect(stated['penstock.usage.price_catalog_version']).toBeUndefined();
});

test('of the owner, an event has only the team', () => {
  expect(attributesOf(whole)).toMatchObject({
    'penstock.usage.owner.team': 'engines',
    'penstock.usage.metadata.project': 'notes',
  });
  expect(JSON.stringify(usageEvent(whole, undefined).attributes)).not.toMatch(/Ada|ada@/);
});
