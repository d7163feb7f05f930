// Which objects have another form than in the table before?

import { expect, test } from 'vitest';
import { createFormIndex } from '../../../operator/hold/forms.ts';
import { makeContent } from '../publish/make-content.ts';

test('changed forms are reported, and the index of the previous table stays unchanged', () => {
  const { index } = createFormIndex();
  const content = makeContent({ keys: 3, routes: 2 });
  const [, second] = content.keys;
  if (second === undefined) throw new Error('there are three keys');
  const before = index(content);
  expect(before.changed.size).toBeGreaterThanOrEqual(5);

  expect(index({ ...content, keys: [...content.keys] }).changed).toEqual(new Set());
  const changed = { ...second, models: { allow: ['a'], deny: [] } };
  const after = index({ ...content, keys: content.keys.map((key) => (key === second ? changed : key)) });
  expect(after.changed).toEqual(new Set([`ApiKey/${second.id}`]));
  expect(after.of('ApiKey', second.id)).not.toBe(before.of('ApiKey', second.id));

  const gone = index({ ...content, keys: content.keys.filter((key) => key !== second) });
  expect(gone.changed).toEqual(new Set([`ApiKey/${second.id}`]));
  expect(gone.of('ApiKey', second.id)).toBeUndefined();
  expect(index(content).of('ApiKey', second.id)).toBe(before.of('ApiKey', second.id));
});

test('an object with several entries has the form of the remaining ones, whatever it had before', () => {
  const { keys, ...rest } = makeContent({ keys: 4 });
  const [first, second, third] = keys.map((key) => ({ ...key, id: 'team-a/ci' }));
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('there are four keys');
  const { index } = createFormIndex();
  for (const entries of [[first], [first, second, third], [second, third], [third], [], [first, third]]) {
    const known = index({ ...rest, keys: entries }).of('ApiKey', 'team-a/ci');
    expect(known).toBe(
      createFormIndex()
        .index({ ...rest, keys: entries })
        .of('ApiKey', 'team-a/ci'),
    );
  }
});

test('a table read in pieces has the same forms, and other work runs in between', async () => {
  const content = makeContent({ keys: 2_500 });
  const forms = createFormIndex();
  let breaths = 0;
  await forms.prepare(content, async () => {
    breaths += 1;
  });
  expect(breaths).toBe(2);
  const [prepared, cold] = [forms.index(content), createFormIndex().index(content)];
  for (const { id } of content.keys) expect(prepared.of('ApiKey', id)).toBe(cold.of('ApiKey', id));
});
