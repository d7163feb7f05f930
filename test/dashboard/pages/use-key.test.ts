// Does what is said of a key work as it is pasted: for the model that is chosen, and for where the key lies?

import { describe, expect, test } from 'vitest';
import { answeringFirst, canCall, pairOf, pricedFirst } from '../../../dashboard/pages/keys/callable.ts';
import { placeOfKey } from '../../../dashboard/pages/keys/read-key.ts';
import { snippetsFor } from '../../../dashboard/pages/keys/snippets.ts';
import type { DialectName } from '../../../dashboard/pages/words/choices.ts';

const model = (id: string, ...dialects: readonly DialectName[]) => ({
  id,
  dialects: (['chat', 'messages', 'responses', 'completions'] as const).map((name) => ({
    name,
    verdict: dialects.includes(name) ? ('native' as const) : ('impossible' as const),
    lostFields: [],
  })),
});
const clients = snippetsFor('https://gateway.example.com', 'YOUR_KEY', 'm');
const pick = (models: readonly ReturnType<typeof model>[], client = 'curl', picked = '') => {
  const pair = pairOf(models, clients, { model: picked, client });
  return [pair.model?.id, pair.client?.id];
};

describe('the suggested client and model', () => {
  const [old, claude, all] = [
    model('old', 'completions'),
    model('claude', 'messages'),
    model('all', 'chat', 'messages', 'responses'),
  ];

  test('fit each other, if possible', () => {
    expect(pick([old, claude, all])).toEqual(['all', 'curl']);
    expect(pick([old, claude, all], 'claude-code')).toEqual(['claude', 'claude-code']);
    expect(pick([old, claude])).toEqual(['claude', 'anthropic-python']);
  });

  test('have a price, or a provider of the namespace, if possible', () => {
    const price = { input: '1', output: '1', cached: undefined, request: undefined, isProvisioned: false };
    const words = (id: string, of: typeof price | undefined, isOwn = false) => ({
      id,
      isOwn,
      price: of && { ...of, tiersAbove: undefined },
    });
    const found = pricedFirst([words('none', undefined), words('own', undefined, true), words('set', price)]);
    expect(found.map(({ id }) => id)).toEqual(['own', 'set', 'none']);
  });

  test('keep the chosen model', () => {
    expect(pick([all, claude], 'codex', 'claude')).toEqual(['claude', 'anthropic-python']);
    expect(pick([all, claude], 'codex', 'all')).toEqual(['all', 'codex']);
    expect(pick([all, old], 'curl', 'old')).toEqual(['old', undefined]);
  });

  test('begin with a model that answers, then untested ones, and failing ones last', () => {
    const lately = [
      { model: 'claude', attempts: 39, outcomes: { answered: 1 } },
      { model: 'old', attempts: 0, outcomes: {} },
      { model: 'all', attempts: 90, outcomes: { answered: 45 } },
    ];
    const inOrder = (rows: typeof lately) => answeringFirst([claude, old, all], rows).map(({ id }) => id);
    expect(inOrder(lately)).toEqual(['all', 'old', 'claude']);
    expect(inOrder([])).toEqual(['claude', 'old', 'all']);
  });

  test('are any, without known models', () => {
    expect(pick([], 'codex')).toEqual([undefined, 'codex']);
    expect(canCall({ id: 'm', dialects: [] }, 'chat')).toBe(true);
  });
});

describe('the command that prints a key reads', () => {
  const command = (...args: Parameters<typeof placeOfKey>) => placeOfKey(...args).command;

  test('the Secret and the field that the operator writes', () => {
    expect(command('kubernetes', 'team-a', 'bot', undefined)).toBe(
      "kubectl get secret bot-key -n team-a -o jsonpath='{.data.apiKey}' | base64 -d",
    );
    const secret = { name: 'own', key: 'token.txt' };
    expect(command('kubernetes', 'team-a', 'bot', { spec: { secret } })).toBe(
      "kubectl get secret own -n team-a -o jsonpath='{.data.token\\.txt}' | base64 -d",
    );
  });

  test('the file, without a cluster', () => {
    expect(command('local', 'team-a', 'bot', { spec: {} })).toBe('cat .penstock/keys/team-a/bot');
  });
});
