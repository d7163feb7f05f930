// A process that runs commands for the one that started it, and ends with it: see run.ts.

import type { Answer, Question } from './run.ts';
import { runHere } from './run-here.ts';

const running = new Map<number, AbortController>();

process.on('message', (question: Question) => {
  const { id } = question;
  if ('isOver' in question) running.get(id)?.abort();
  else void answer(question);
});
process.once('disconnect', () => process.exit());

async function answer({ id, command }: Extract<Question, { command: unknown }>): Promise<void> {
  const ending = new AbortController();
  running.set(id, ending);
  const ran = await runHere(command, ending.signal);
  running.delete(id);
  const reported: Answer = { id, ran };
  process.send?.(reported);
}
