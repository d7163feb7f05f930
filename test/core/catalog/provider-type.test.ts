// Is one row of the catalogue all that a new provider type with a known dialect needs?

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { typesThat } from '../../../core/catalog/provider-types.ts';
import { planAnswerSchema } from '../../../core/contract/plan.ts';
import { providerEntrySchema } from '../../../core/contract/routing-table.ts';
import { seatRows } from '../../../gateway/upstream/seats.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';

const ruled = z.object({
  'x-kubernetes-validations': z.array(z.object({ rule: z.string(), message: z.string() })),
});
const described = z.object({ description: z.string() });
const seenSchema = z.object({
  spec: ruled.extend({
    properties: z.object({
      type: z.object({ enum: z.array(z.string()) }),
      baseURL: described,
      apis: described,
      options: described,
    }),
  }),
  reference: z.string(),
  choices: z.string(),
  telemetryName: z.string(),
  entry: providerEntrySchema,
  plan: planAnswerSchema,
  status: z.int(),
  call: z.object({ path: z.string(), headers: z.record(z.string(), z.unknown()) }),
  checkedTypes: z.unknown(),
});

let seen: z.infer<typeof seenSchema>;

beforeAll(async () => {
  const script = join(import.meta.dirname, 'imaginary-type.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    env: bareEnvironment(),
    maxBuffer: 2 ** 24,
  });
  seen = seenSchema.parse(JSON.parse(stdout));
});

test('the CRD takes a provider type that has one row, and its rules and texts name it', () => {
  const { properties, 'x-kubernetes-validations': rules } = seen.spec;
  expect(properties.type.enum[0]).toBe('Imaginary');
  expect(rules.map(({ message }) => message)).toContain(
    'baseURL is required for the types Imaginary, OpenAICompatible, AzureOpenAI, Bedrock and Ollama',
  );
  expect(rules.map(({ rule }) => rule)).toContain(
    "!(self.type in ['Imaginary', 'OpenAICompatible', 'AzureOpenAI', 'Bedrock', 'Ollama']) || has(self.baseURL)",
  );
  expect(properties.apis.description).toContain('Defaults: Imaginary Messages, OpenAI');
  expect(properties.options.description).toContain('Imaginary knows `region`');
});

test('the reference of the API lists a provider type that has one row', () => {
  expect(seen.reference).toContain('`Imaginary`, `OpenAI`, `Anthropic`');
});

test("the dashboard's form offers a provider type that has one row, and asks for what the type needs", () => {
  expect(seen.choices).toContain(
    "Imaginary: { label: 'Imaginary cloud', needsUrl: true, needsApis: false, needsKey: false },",
  );
});

test('the compiler puts a provider type that has one row into the table, and the plan shows its target', () => {
  expect(seen.entry).toMatchObject({
    type: 'Imaginary',
    dialects: ['anthropic-messages'],
    auth: { header: 'x-imaginary-key', prefix: 'Key ' },
    headers: [{ name: 'x-imaginary-region', value: 'here' }],
  });
  expect(seen.plan.targets).toMatchObject([
    { upstreamDialect: 'anthropic-messages', verdict: 'native', state: 'wouldBeTried' },
  ]);
});

test('the router sends a request to a provider type that has one row, with its key header', () => {
  expect(seen.status).toBe(200);
  expect(seen.call.path).toBe('/v1/messages');
  expect(seen.call.headers).toMatchObject({
    'x-imaginary-key': 'Key sk-upstream',
    'x-imaginary-region': 'here',
  });
  expect(seen.telemetryName).toBe('imaginary_cloud');
});

test('the operator makes no active check of a provider type with its own seats, even if the Provider asks for one', () => {
  const checked = { types: ['OpenAI'], checks: 1 };
  const unchecked = { types: ['ImaginaryCloud'], checks: 0 };
  expect(seen.checkedTypes).toEqual([
    [checked, checked],
    [unchecked, unchecked],
  ]);
});

test('exactly the provider types with their own seats have a row of seats', () => {
  expect(typesThat(({ hasOwnSeats }) => hasOwnSeats === true).toSorted()).toEqual(
    [...seatRows.keys()].toSorted(),
  );
});
