// Can a caller have another model of a provider than the one that its route names, and that its ledger knows the price of?

import { expect, test } from 'vitest';
import { asRecord } from '../../gateway/json/record.ts';
import { compileOnce } from '../operator/compile/support.ts';
import { provider, secret, snapshot } from '../operator/make.ts';
import { ask, type Endpoint } from './ask.ts';
import { inHouse } from './house.ts';

/** As the operator tells gateways of a Provider of this type. */
function modelMembersOf(type: string): readonly string[] | undefined {
  const snap = snapshot({ providers: [provider({ type })], secrets: [secret()] });
  return compileOnce(snap).table.providers[0]?.modelMembers;
}

const chosen: Readonly<Record<string, unknown>> = {
  models: ['dear'],
  fallbacks: [{ model: 'dear' }],
  route: 'fallback',
  preset: 'dear',
  plugins: [{ id: 'fusion', analysis_models: ['dear'] }],
};
const kept = { provider: { sort: 'price' }, reasoning: { effort: 'low' } };
const dialects = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
} as const;

test.each<[string, Endpoint & keyof typeof dialects, readonly string[]]>([
  ...(['chat', 'responses', 'messages'] as const).map(
    (endpoint) => ['OpenRouter', endpoint, Object.keys(chosen)] as [string, typeof endpoint, string[]],
  ),
  ['Anthropic', 'messages', ['fallbacks']],
])(
  'at %s %s callers get the model of the target, and the header names what was left out',
  (type, endpoint, withheld) =>
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'answer' });
      const modelMembers = modelMembersOf(type);
      const spoken = [dialects[endpoint]];
      const rig = await house.rigOf([
        {
          baseUrl: wall.baseUrl,
          upstreamModel: 'cheap',
          dialects: spoken,
          providerEntry: { dialects: spoken, ...(modelMembers && { modelMembers: [...modelMembers] }) },
        },
      ]);
      const headers = { 'anthropic-beta': 'server-side-fallback-2026-07-01' };
      const asked = await ask(rig, { endpoint, headers, more: { ...chosen, ...kept } });
      const sent = asRecord(wall.calls[0]?.json) ?? {};
      expect([asked.status, withheld.filter((name) => name in sent)]).toEqual([200, []]);
      expect(sent).toMatchObject({ model: 'cheap', ...kept });
      expect(asked.headers['x-penstock-dropped']).toBe(withheld.toSorted().join(','));
    })(),
);

test(
  'fallback models of the target itself are sent, and a provider without such members gets all',
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([
      {
        baseUrl: wall.baseUrl,
        parameters: { models: ['own'] },
        providerEntry: { modelMembers: [...(modelMembersOf('OpenRouter') ?? [])] },
      },
    ]);
    await ask(rig, { more: { models: ['dear'] } });
    expect(wall.calls[0]?.json).toMatchObject({ models: ['own'] });
    expect(modelMembersOf('OpenAI')).toBeUndefined();
    const other = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    const { headers } = await ask(other, { more: chosen });
    expect(wall.calls[1]?.json).toMatchObject(chosen);
    expect(headers).not.toHaveProperty('x-penstock-dropped');
  }),
);
