// Several objects that are of use only together: none is made where one would be refused, and none twice where an answer was lost.

import { expect, test } from 'vitest';
import { createAll, nothingCreated, type Step } from '../../../dashboard/pages/providers/create-all.ts';
import { type Api, ApiError, type Call } from '../../../dashboard/pages/shell/api.ts';

const secret: Step = { path: 'secrets', body: { metadata: { name: 'own' } }, what: 'Secret own' };
const provider: Step = {
  path: 'providers',
  body: { metadata: { name: 'own' }, spec: { type: 'OpenAI' } },
  what: 'Provider own',
};
const route: Step = {
  path: 'modelroutes',
  body: { metadata: { name: 'llama' }, spec: { model: 'llama' } },
  what: 'ModelRoute llama',
};
const steps = [secret, provider, route];
const lost = new ApiError(0, 'offline', 'nobody answers');

/** @param fails what is answered to a call, by its words, once; `comes`: it is done all the same. */
function serverOf(fails: Record<string, { readonly error: ApiError; readonly comes?: boolean }> = {}) {
  const objects = new Map<string, Step['body']>();
  const left = new Map(Object.entries(fails));
  const made: string[] = [];
  const api: Api = {
    async call<Answer>(path: string, { method = 'GET', query, body }: Call = {}) {
      const isTry = query?.dryRun === 'All';
      const words = `${isTry ? 'try' : method} ${path}`;
      const fail = left.get(words);
      left.delete(words);
      if (fail !== undefined && fail.comes !== true) throw fail.error;
      if (method === 'GET') {
        const found = objects.get(path);
        if (found === undefined) throw new ApiError(404, 'NotFound', 'not found');
        return found as Answer;
      }
      const object = body as Step['body'];
      const place = `${path}/${object.metadata.name}`;
      if (objects.has(place)) throw new ApiError(409, 'AlreadyExists', 'already exists');
      if (!isTry) {
        objects.set(place, {
          ...object,
          ...(object.spec !== undefined && { spec: { ...object.spec, added: 1 } }),
        });
        made.push(path);
      }
      if (fail !== undefined) throw fail.error;
      return object as Answer;
    },
  };
  return { api, made, objects };
}

test('all objects are made, in order', async () => {
  const { api, made } = serverOf();
  expect(await createAll(api, steps, nothingCreated)).toMatchObject({ is: 'done' });
  expect(made).toEqual(['secrets', 'providers', 'modelroutes']);
});

test('if the last would be refused, none is made, and the last is named', async () => {
  const { api, made } = serverOf({
    'try modelroutes': { error: new ApiError(403, 'Forbidden', 'you may not') },
  });
  expect(await createAll(api, steps, nothingCreated)).toMatchObject({
    is: 'refused',
    message: 'you may not',
    what: 'ModelRoute llama',
  });
  expect(made).toEqual([]);
});

test.each(['secrets', 'providers', 'modelroutes'])(
  'where the answer to making %s was lost and it came, all are there in the end, each made once',
  async (path) => {
    const { api, made } = serverOf({ [`POST ${path}`]: { error: lost, comes: true } });
    expect(await createAll(api, steps, nothingCreated)).toMatchObject({ is: 'done' });
    expect(made).toEqual(['secrets', 'providers', 'modelroutes']);
  },
);

test.each(['secrets', 'providers', 'modelroutes'])(
  'if the check fails too, it stays unknown whether %s exists, and a second try continues',
  async (path) => {
    const look = path === 'secrets' ? 'try secrets' : `GET ${path}/${path === 'providers' ? 'own' : 'llama'}`;
    const { api, made } = serverOf({ [`POST ${path}`]: { error: lost, comes: true } });
    const offline: Api = {
      async call(asked, call) {
        const words = `${call?.query?.dryRun ? 'try' : (call?.method ?? 'GET')} ${asked}`;
        if (words === look && made.includes(path)) throw lost;
        return await api.call(asked, call);
      },
    };
    const first = await createAll(offline, steps, nothingCreated);
    if (first.is === 'done') throw new Error('it cannot be known');
    expect(first).toMatchObject({ is: 'unknown', what: steps.find((step) => step.path === path)?.what });
    expect(await createAll(api, steps, first.created)).toMatchObject({ is: 'done' });
    expect(made).toEqual(['secrets', 'providers', 'modelroutes']);
  },
);

test('after a refusal in the middle the rest can be sent again, and the message names what exists', async () => {
  const { api, made } = serverOf({ 'POST providers': { error: new ApiError(409, 'Conflict', 'too many') } });
  const first = await createAll(api, steps, nothingCreated);
  if (first.is === 'done') throw new Error('it was refused');
  expect([...first.created.done.values()]).toEqual(['Secret own']);
  expect(await createAll(api, steps, first.created)).toMatchObject({ is: 'done' });
  expect(made).toEqual(['secrets', 'providers', 'modelroutes']);
});

test('an object that exists and is then changed is refused as existing, not skipped', async () => {
  const { api } = serverOf({ 'POST modelroutes': { error: new ApiError(403, 'Forbidden', 'no more') } });
  const first = await createAll(api, steps, nothingCreated);
  if (first.is === 'done') throw new Error('it was refused');
  const changed = { ...provider, body: { ...provider.body, spec: { type: 'Anthropic' } } };
  expect(await createAll(api, [secret, changed, route], first.created)).toMatchObject({
    is: 'refused',
    message: 'already exists',
    what: 'Provider own',
  });
});
