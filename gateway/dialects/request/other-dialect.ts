// Which address takes this body, or this tool, where it is of another dialect than the one it was sent to?

import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';

type Address = '/v1/chat/completions' | '/v1/completions' | '/v1/messages' | '/v1/responses';

/** Members by which a body is known; the first that a body has counts. */
const marks: readonly (readonly [member: string, address: Address])[] = [
  ['input', '/v1/responses'],
  ['prompt', '/v1/completions'],
  ['system', '/v1/messages'],
  ['stop_sequences', '/v1/messages'],
  ['max_completion_tokens', '/v1/chat/completions'],
  ['messages', '/v1/chat/completions'],
];

/** @returns Words, where a member shows it that the dialect it was sent to does not have. */
export function otherAddress(body: RequestBody, own: Readonly<Record<string, unknown>>): string | undefined {
  const mark = marks.find(([member]) => !Object.hasOwn(own, member) && body.member(member) !== undefined);
  return mark && `A body with '${mark[0]}' goes to POST ${mark[1]}`;
}

/** How one address has a function that a model may call. */
interface ToolForm {
  readonly address: Address;
  isOf(tool: JsonRecord): boolean;
  /** The member that a tool of another form lacks. */
  readonly lacks: string;
  readonly shown: string;
}

const toolForms = {
  chat: {
    address: '/v1/chat/completions',
    isOf: (tool) => tool.type === 'function' && isRecord(tool.function),
    lacks: 'function',
    shown: "A tool with 'function'",
  },
  responses: {
    address: '/v1/responses',
    isOf: (tool) => tool.type === 'function' && typeof tool.name === 'string',
    lacks: 'name',
    shown: "A function with 'name' beside its type",
  },
  messages: {
    address: '/v1/messages',
    isOf: (tool) => isRecord(tool.input_schema),
    lacks: 'input_schema',
    shown: "A tool with 'input_schema'",
  },
} as const satisfies Record<string, ToolForm>;

export type ToolFormName = keyof typeof toolForms;

/** @returns What it lacks, and words; undefined if it has the form of this dialect, or a type that a provider knows. */
export function otherToolForm(
  tool: unknown,
  own: ToolFormName,
): { readonly lacks: string; readonly words: string } | undefined {
  if (!isRecord(tool) || toolForms[own].isOf(tool)) return undefined;
  const other = Object.values(toolForms).find((form) => form.isOf(tool));
  return other && { lacks: toolForms[own].lacks, words: `${other.shown} goes to POST ${other.address}` };
}
