// When does a command end that has a limit on silence?

import { expect, test } from 'vitest';
import { run } from './run.ts';

test('a command with a limit on silence goes on as long as it writes', async () => {
  const script = 'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n; sleep 0.2; done';
  const ran = await run('sh', ['-c', script], { quietMs: 2_000 });
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1\n[\d\n]*12\n$/) });
});

test('a command that falls silent is ended', async () => {
  const ran = await run('sh', ['-c', 'echo begun; exec sleep 600'], { quietMs: 200 });
  expect(ran).toMatchObject({ code: null });
});
