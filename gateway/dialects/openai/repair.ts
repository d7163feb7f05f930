// What do clients of chat completions and completions go by that an upstream has left out of an answer, and what do they get
// in its place? For chunks and plain answers alike; what an upstream has said well is never touched.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { withMembers } from '../../json/with-members.ts';
import { hasEmptyError } from '../answer/read-error.ts';
import type { AnswerHead } from '../dialect.ts';
import { encodeOpenAiUsage, hasSoundCounts, readOpenAiUsage } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';

/** What differs between chat completions and completions, chunks and plain answers. */
export interface RepairShape {
  readonly object: string;
  readonly idPrefix: string;
  openChoice(index: number, head: () => AnswerHead): ChoiceRepair;
}

export interface ChoiceRepair {
  /** Why the choice has ended, where its upstream does not say. */
  readonly endReason: string;
  /** Content of a chunk that ends the choice, besides its index and reason. */
  readonly emptyPiece: JsonRecord;
  /** The same object, if nothing is missing. */
  sound(choice: JsonRecord): JsonRecord;
}

/** More than anybody asks for: an upstream may make up indexes. */
const choicesMax = 1_000;

export class OpenAiRepair {
  private readonly shape: RepairShape;
  private readonly head: () => AnswerHead;
  private readonly choices = new Map<number, ChoiceRepair>();
  /** Of the answer: as the upstream said first, else of our own making. */
  private id = '';
  private model = '';
  private createdAt = 0;

  constructor(shape: RepairShape, head: () => AnswerHead) {
    this.shape = shape;
    this.head = head;
  }

  /** Remembers values of a chunk that is not forwarded: its id may occur in no other chunk. */
  note({ id, model, created }: JsonRecord): void {
    this.id ||= textOf(id);
    this.model ||= textOf(model);
    if (this.createdAt === 0 && isTime(created)) this.createdAt = created;
  }

  /** @param index Of a choice that does not say its own. */
  choice(choice: JsonRecord, index: number): JsonRecord {
    const numbered = typeof choice.index === 'number' ? choice : { ...choice, index };
    const sound = this.choiceOf(Number(numbered.index)).sound(numbered);
    const { finish_reason: reason } = sound;
    // Clients take the word for a reason.
    return typeof reason === 'string' && !isFinishReason(reason) ? { ...sound, finish_reason: null } : sound;
  }

  /** A choice of a plain answer: whole, so it has ended. */
  wholeChoice(choice: JsonRecord, index: number): JsonRecord {
    const sound = this.choice(choice, index);
    return isFinishReason(sound.finish_reason)
      ? sound
      : { ...sound, finish_reason: this.choiceOf(Number(sound.index)).endReason };
  }

  /**
   * @param text Of the value, as latin1 of UTF-8 bytes; asked for where something is missing.
   * @param choices The entries of its `choices`, each as it is to be.
   * @returns Undefined if nothing is missing.
   */
  repaired(text: () => string, value: JsonRecord, choices: readonly unknown[]): string | undefined {
    const changes = this.changesOf(value, choices);
    for (const _ in changes) return withMembers(text(), value, changes);
    return undefined;
  }

  /** The data of a chunk that ends a choice whose upstream has not said that it has. */
  end(index: number): string {
    const { endReason, emptyPiece } = this.choiceOf(index);
    const choice = { index, ...emptyPiece, logprobs: null, finish_reason: endReason };
    return withMembers('{}', {}, { ...this.changesOf({}, []), choices: [choice] });
  }

  private changesOf(value: JsonRecord, choices: readonly unknown[]): JsonRecord {
    this.note(value);
    const changes: Record<string, unknown> = {};
    this.id ||= this.shape.idPrefix + this.head().id;
    if (value.id !== this.id) changes.id = this.id;
    if (textOf(value.object) === '') changes.object = this.shape.object;
    if (!isTime(value.created)) changes.created = this.createdAt ||= this.head().createdAt;
    if (textOf(value.model) === '') changes.model = this.model ||= this.head().model;
    if (hasEmptyError(value)) changes.error = undefined;
    const reported = asRecord(value.usage);
    if (reported && !hasSoundCounts(reported)) {
      const usage = readOpenAiUsage(reported);
      changes.usage = usage && encodeOpenAiUsage(usage);
    }
    const isChanged =
      Array.isArray(value.choices) && value.choices.some((entry, at) => entry !== choices[at]);
    if (isChanged) changes.choices = choices;
    return changes;
  }

  private choiceOf(index: number): ChoiceRepair {
    const known = this.choices.get(index);
    if (known) return known;
    const choice = this.shape.openChoice(index, this.head);
    if (this.choices.size < choicesMax) this.choices.set(index, choice);
    return choice;
  }
}

/** Whether a plain answer needs no repair, as most do; one with calls of tools is looked at closely. */
export function lacksNothing(answer: JsonRecord, choices: readonly unknown[]): boolean {
  const usage = asRecord(answer.usage);
  return (
    textOf(answer.id) !== '' &&
    textOf(answer.object) !== '' &&
    textOf(answer.model) !== '' &&
    isTime(answer.created) &&
    !hasEmptyError(answer) &&
    (!usage || hasSoundCounts(usage)) &&
    choices.every(isOrdinaryChoice)
  );
}

function isOrdinaryChoice(choice: unknown): boolean {
  if (!isRecord(choice) || typeof choice.index !== 'number' || !isFinishReason(choice.finish_reason))
    return false;
  const { message, text } = choice;
  return isRecord(message) ? !message.tool_calls && !message.function_call : typeof text === 'string';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value > 0;
}

export function mapChoices(
  entries: readonly unknown[],
  sound: (choice: JsonRecord, position: number) => JsonRecord,
): readonly unknown[] {
  return entries.map((entry, position) => (isRecord(entry) ? sound(entry, position) : entry));
}
