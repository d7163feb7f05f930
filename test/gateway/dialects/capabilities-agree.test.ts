// Does the gateway do what the capabilities table says? For each client dialect and feature a request
// that asks for it, sent to each upstream dialect: refused, reported, dropped, or seen by the upstream,
// exactly as the table has it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { capability, type Feature, features } from '../../../core/catalog/capabilities.ts';
import { type UpstreamDialectName, upstreamDialectNames } from '../../../core/catalog/dialects.ts';
import { type DialectName, dialectNameSchema } from '../../../core/contract/routing-table.ts';
import { findImpossible, listDropped } from '../../../gateway/dialects/compatibility.ts';
import type { Conversation } from '../../../gateway/dialects/conversation.ts';
import { findDialect, findUpstreamDialect } from '../../../gateway/dialects/registry.ts';
import { openCall } from '../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../gateway/json/request-body.ts';
import { target as someTarget } from './properties/both-sides.ts';

const dialects = dialectNameSchema.options;
/** A model that takes effort as a word, and temperature. */
const target = { ...someTarget, upstreamModel: 'claude-opus-4-6' };

/** The same, of a model that the dialect has. */
function targetOf(upstream: UpstreamDialectName) {
  if (upstream === 'bedrock-converse') return { ...target, upstreamModel: 'anthropic.claude-opus-4-6-v1' };
  return upstream === 'google-generate-content' ? { ...target, upstreamModel: 'gemini-3.8-flash' } : target;
}

const shown = z.union([z.string(), z.null(), z.record(z.string(), z.string())]);
const samplesSchema = z.object({ samples: z.record(z.string(), z.looseObject({ shown })) });

type Sample = z.infer<typeof samplesSchema>['samples'][string];

const base: Readonly<Record<DialectName, object>> = {
  'openai-chat': { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
  'openai-responses': { model: 'm', input: 'hello' },
  'anthropic-messages': { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }] },
  'openai-completions': { model: 'm', prompt: 'hello' },
};

function samplesOf(client: DialectName): [Feature, Sample][] {
  const file = join(import.meta.dirname, `../../fixtures/capabilities/${client}.yaml`);
  const { samples } = samplesSchema.parse(parse(readFileSync(file, 'utf8')));
  return Object.entries(samples).map(([name, sample]) => {
    const feature = features.find((known) => known === name);
    if (!feature) throw new Error(`${client}.yaml names ${name}, which is no feature`);
    return [feature, sample];
  });
}

function askedBy(
  client: DialectName,
  { shown: _, ...members }: Sample,
  upstream: UpstreamDialectName,
): readonly Conversation[] {
  const body = new RequestBody([Buffer.from(JSON.stringify({ ...base[client], ...members }))]);
  const dialect = findDialect(client);
  dialect.readRequest(body);
  return dialect.translate(body, { upstreams: new Set([upstream]), header: () => undefined }).conversations;
}

describe.each(dialects)('%s', (client) => {
  const others = upstreamDialectNames.filter((name) => name !== client);

  describe.each(samplesOf(client))('%s', (feature, sample) => {
    test.each(others)('at %s', (upstream) => {
      const conversations = askedBy(client, sample, upstream);
      const [conversation] = conversations;
      if (!conversation) throw new Error('nothing was read');
      const asked = conversation.asks.filter((ask) => ask.feature === feature);
      expect(asked, 'the request asks for it').not.toEqual([]);
      const verdict = capability(client, upstream, feature);
      const dropped = listDropped(client, findUpstreamDialect(upstream), conversations, targetOf(upstream));
      const names = asked.map(({ param }) => param);
      if (verdict === 'reported') expect(dropped).toEqual(expect.arrayContaining([...new Set(names)]));
      else expect(dropped.filter((name) => names.includes(name) && verdict !== 'impossible')).toEqual([]);
      const impossible = findImpossible(client, upstream, conversation);
      if (verdict === 'impossible') expect(impossible).toBeDefined();
      if (impossible) return;
      const request = openCall(findUpstreamDialect(upstream), conversation, targetOf(upstream)).body.toString(
        'utf8',
      );
      const mark = typeof sample.shown === 'object' ? sample.shown?.[upstream] : sample.shown;
      if (mark === undefined || mark === null) return;
      if (verdict === 'translated') expect(request).toContain(mark);
      else expect(request).not.toContain(mark);
    });
  });

  test('a plain request asks for nothing', () => {
    const sample = { shown: null };
    for (const upstream of others) {
      const asks = askedBy(client, sample, upstream).flatMap((conversation) => conversation.asks);
      expect(asks.filter(({ feature }) => feature !== 'max-tokens')).toEqual([]);
    }
  });
});

test('every feature of the table is asked for by some client dialect', () => {
  const asked = new Set(dialects.flatMap((client) => samplesOf(client).map(([feature]) => feature)));
  expect(features.filter((feature) => !asked.has(feature))).toEqual([]);
});
