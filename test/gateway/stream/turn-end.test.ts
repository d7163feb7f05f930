import { expect, test } from 'vitest';
import { type Staged, TurnEnd } from '../../../gateway/stream/turn-end.ts';

const scheduled: (() => void)[] = [];

function endTurn(): void {
  for (const run of scheduled.splice(0)) run();
}

function named(name: string, done: string[], act: () => void = () => {}): Staged {
  return {
    onTurnEnd: () => {
      done.push(name);
      act();
    },
  };
}

test('answers are read first, then written, then bodies and records follow, each in order of arrival', () => {
  const [turn, done]: [TurnEnd, string[]] = [new TurnEnd((run) => scheduled.push(run)), []];
  turn.body(named('body 1', done));
  turn.piece(named('answer 1', done, () => expect(turn.recordsLater(named('record 1', done))).toBe(true)));
  turn.body(named('body 2', done));
  turn.piece(named('answer 2', done, () => expect(turn.writesLater(named('write 2', done))).toBe(true)));
  expect([done.length, scheduled.length]).toEqual([0, 1]);
  endTurn();
  expect(done).toEqual(['answer 1', 'answer 2', 'write 2', 'body 1', 'body 2', 'record 1']);
  endTurn();
  expect(done).toHaveLength(6);
});

test('work that becomes ready in a turn is done in the same turn, before the records', () => {
  const [turn, done]: [TurnEnd, string[]] = [new TurnEnd((run) => scheduled.push(run)), []];
  turn.body(
    named('body', done, () => {
      turn.piece(named('answer', done, () => turn.recordsLater(named('record', done))));
      turn.body(named('next body', done));
    }),
  );
  endTurn();
  expect(done).toEqual(['body', 'next body', 'answer', 'record']);
  expect(scheduled).toEqual([]);
});

test('records and writes wait for nothing if no answer is in flight', () => {
  const turn = new TurnEnd((run) => scheduled.push(run));
  expect(turn.recordsLater(named('record', []))).toBe(false);
  expect(turn.writesLater(named('write', []))).toBe(false);
  expect(scheduled).toEqual([]);
});

test('after an error, all other work of the turn is done in the next turn', () => {
  const [turn, done]: [TurnEnd, string[]] = [new TurnEnd((run) => scheduled.push(run)), []];
  turn.piece(named('answer', done, () => turn.recordsLater(named('record', done))));
  turn.body(
    named('broken', done, () => {
      throw new Error('it was not to throw');
    }),
  );
  turn.body(named('body', done));
  expect(endTurn).toThrow('it was not to throw');
  endTurn();
  expect(done).toEqual(['answer', 'broken', 'body', 'record']);
});
