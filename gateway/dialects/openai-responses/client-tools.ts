// Which of this dialect's own tools does the client run, what do they take, and how do their calls look? To upstreams of other
// dialects they are functions of the same name; a call comes back as the item that the client knows.
// OpenAI API reference, "Shell", "Local shell" and "Apply patch", 2026-11.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { Part, PartOf, Tool } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { readText } from '../request/read-values.ts';

export type ClientToolType = 'shell' | 'local_shell' | 'apply_patch';

interface ClientTool {
  readonly description: string;
  readonly schema: JsonRecord;
  readonly idPrefix: string;
  /** Of a call: the member that says what to do. */
  readonly member: 'action' | 'operation';
  /** The value of that member; undefined if the model did not keep to the schema. */
  encode(input: JsonRecord): JsonRecord | undefined;
  /** Members that every call has. */
  readonly constants?: JsonRecord;
}

const texts = { type: 'array', items: { type: 'string' } };
const milliseconds = { type: 'integer', description: 'Stop the command after so many milliseconds.' };

const clientTools: Readonly<Record<ClientToolType, ClientTool>> = {
  shell: {
    description: 'Runs shell commands, one after the other, and gives their output and exit codes.',
    schema: {
      type: 'object',
      properties: {
        commands: { ...texts, description: 'The commands, each one a line for the shell.' },
        timeout_ms: milliseconds,
        max_output_length: { type: 'integer', description: 'Cut the output after so many characters.' },
      },
      required: ['commands'],
    },
    idPrefix: 'sh_',
    member: 'action',
    encode({ commands, timeout_ms = null, max_output_length = null }) {
      const list = typeof commands === 'string' ? [commands] : commands;
      return isTexts(list) ? { commands: list, timeout_ms, max_output_length } : undefined;
    },
    constants: { environment: { type: 'local' } },
  },
  local_shell: {
    description: 'Runs one program with its arguments, and gives its output and exit code.',
    schema: {
      type: 'object',
      properties: {
        command: { ...texts, description: 'The program and its arguments, such as ["bash", "-lc", "ls"].' },
        working_directory: { type: 'string' },
        env: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
        timeout_ms: milliseconds,
        user: { type: 'string' },
      },
      required: ['command'],
    },
    idPrefix: 'lsh_',
    member: 'action',
    encode({ command, env, timeout_ms = null, user = null, working_directory = null }) {
      const list = typeof command === 'string' ? ['bash', '-lc', command] : command;
      if (!isTexts(list)) return undefined;
      return { type: 'exec', command: list, env: asRecord(env) ?? {}, timeout_ms, user, working_directory };
    },
  },
  apply_patch: {
    description:
      'Creates, changes or deletes one file. A diff has no header lines. Of update_file: a line "@@", with a nearby line of code behind it where that helps to find the place, then the lines of the place: unchanged ones begin with a blank, removed ones with "-", added ones with "+". Of create_file: every line begins with "+".',
    schema: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string', description: 'The file, relative to the working directory.' },
        diff: { type: 'string', description: 'The change; not of delete_file.' },
      },
      required: ['type', 'path'],
    },
    idPrefix: 'apc_',
    member: 'operation',
    encode({ type, path, diff }) {
      if (typeof path !== 'string') return undefined;
      if (type === 'delete_file') return { type, path };
      const isKnown = type === 'create_file' || type === 'update_file';
      return isKnown && typeof diff === 'string' ? { type, path, diff } : undefined;
    },
  },
};

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'string');
}

function isClientToolType(type: unknown): type is ClientToolType {
  return typeof type === 'string' && Object.hasOwn(clientTools, type);
}

/** Undefined for all other tools, and for a shell in a container of the provider's. */
export function clientToolType({ type, environment }: JsonRecord): ClientToolType | undefined {
  const place = asRecord(environment)?.type ?? 'local';
  return isClientToolType(type) && place === 'local' ? type : undefined;
}

/** Client-run too, but its clicks need a model that was trained on this very tool. */
export function isComputer(type: string): boolean {
  return type === 'computer' || type.startsWith('computer_use');
}

/** The tool as a function. */
export function clientToolAsFunction(type: ClientToolType): Tool {
  const { description, schema } = clientTools[type];
  return { kind: 'function', name: type, description, schema };
}

/** The item of a call of such a tool, without id and status; undefined if the input does not keep to the schema. */
export function encodeClientCall(type: ClientToolType, input: string): JsonRecord | undefined {
  const { member, encode, constants } = clientTools[type];
  const value = asRecord(parseJson(input));
  const encoded = value && encode(value);
  return encoded && { type: `${type}_call`, [member]: encoded, ...constants };
}

export function clientCallIdPrefix(type: ClientToolType): string {
  return clientTools[type].idPrefix;
}

/** Which tool an item of the input is a call of, or a result. */
export function clientItem(
  type: unknown,
): { readonly tool: ClientToolType; readonly isCall: boolean } | undefined {
  const [, tool, output] = /^(\w+?)_call(_output)?$/.exec(String(type)) ?? [];
  return isClientToolType(tool) ? { tool, isCall: output === undefined } : undefined;
}

/** @throws {GatewayError} `invalid_parameter`, naming the member. */
export function decodeClientCall(item: JsonRecord, tool: ClientToolType, name: string): PartOf<'tool-call'> {
  const { member } = clientTools[tool];
  const said = item[member];
  if (!isRecord(said)) return invalidParameter(`${name}.${member}`, 'is required and must be an object');
  const given = Object.entries(said).filter(([, value]) => value !== null);
  return {
    type: 'tool-call',
    id: readText(item.call_id, `${name}.call_id`),
    name: tool,
    kind: 'function',
    input: JSON.stringify(Object.fromEntries(given)),
  };
}

/**
 * @param idOf The id of the call that an item has the id of.
 * @throws {GatewayError} `invalid_parameter`, naming the member.
 */
export function decodeClientOutput(
  item: JsonRecord,
  name: string,
  idOf: (itemId: string) => string,
): PartOf<'tool-result'> {
  const { output, status, call_id: callId, id } = item;
  const failed = status === 'failed' ? { isError: true } : {};
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? status ?? '');
  const parts: readonly Part[] = [{ type: 'text', text }];
  // The result of a local shell may name its call by either id.
  const linked = typeof callId !== 'string' && typeof id === 'string' ? idOf(id) : callId;
  return { type: 'tool-result', id: readText(linked, `${name}.call_id`), parts, ...failed };
}
