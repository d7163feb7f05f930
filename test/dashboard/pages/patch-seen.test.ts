// A change that somebody decided by what they saw: refused where the spec is another one by now, and not where only a status is.

import { expect, test } from 'vitest';
import { type Api, ApiError } from '../../../dashboard/pages/shell/api.ts';
import { patchSeen } from '../../../dashboard/pages/shell/patch-seen.ts';

const path = 'kube/apikeys/team-a/bot';
const meta = (version: number, generation: number, uid = 'u') => ({
  metadata: { name: 'bot', namespace: 'team-a', uid, resourceVersion: String(version), generation },
  spec: {},
});

/** Holds one object, which `concurrent` changes behind each look at it. */
function serverOf(first: ReturnType<typeof meta>, concurrent: (now: ReturnType<typeof meta>) => typeof now) {
  let now = first;
  const patches: unknown[] = [];
  const api: Api = {
    async call<Answer>(asked: string, { method = 'GET', body }: { method?: string; body?: unknown } = {}) {
      expect(asked).toBe(path);
      if (method === 'GET') {
        const answer = now;
        now = concurrent(now);
        return answer as Answer;
      }
      patches.push(body);
      const { metadata } = body as { readonly metadata: { readonly resourceVersion: string } };
      if (metadata.resourceVersion !== now.metadata.resourceVersion)
        throw new ApiError(409, 'Conflict', 'the object has been modified');
      return now as Answer;
    },
  };
  return { api, patches };
}

const patch = { spec: { displayName: 'Bot' } };
const same = (now: ReturnType<typeof meta>) => now;

test('a patch is sent with the version that the user saw', async () => {
  const { api, patches } = serverOf(meta(7, 2), same);
  await patchSeen(api, path, meta(7, 2), patch);
  expect(patches).toEqual([{ metadata: { resourceVersion: '7' }, ...patch }]);
});

test('a concurrent write of the status is no reason to refuse the patch', async () => {
  const { api, patches } = serverOf(meta(9, 2), same);
  await patchSeen(api, path, meta(7, 2), patch);
  expect(patches.at(-1)).toEqual({ metadata: { resourceVersion: '9' }, ...patch });
});

test.each([
  ['a spec that was changed', meta(9, 3)],
  ['another object of that name', meta(9, 2, 'other')],
])('%s is not overwritten', async (_, now) => {
  const { api, patches } = serverOf(now, same);
  await expect(patchSeen(api, path, meta(7, 2), patch)).rejects.toThrow('the object has been modified');
  expect(patches).toHaveLength(1);
});

test('a change already in place succeeds: an earlier try arrived and its response was lost', async () => {
  const { api, patches } = serverOf({ ...meta(9, 3), ...patch }, same);
  await patchSeen(api, path, meta(7, 2), patch);
  expect(patches).toHaveLength(1);
});

test('another object of that name does not count, even if it looks as wanted', async () => {
  const { api } = serverOf({ ...meta(9, 1, 'other'), ...patch }, same);
  await expect(patchSeen(api, path, meta(7, 1), patch)).rejects.toThrow('the object has been modified');
});

test('if the status is written before each try, the patch gives up', async () => {
  const { api, patches } = serverOf(meta(9, 2), ({ metadata }) =>
    meta(Number(metadata.resourceVersion) + 1, 2),
  );
  await expect(patchSeen(api, path, meta(7, 2), patch)).rejects.toThrow('the object has been modified');
  expect(patches).toHaveLength(5);
});
