// A messages request in our own form.

import type { Feature } from '../../../core/catalog/capabilities.ts';
import type { JsonRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { Ask, Conversation } from '../conversation.ts';
import type { TranslationContext } from '../dialect.ts';
import {
  type NoteAsk,
  readMember,
  readOptionalRecord,
  readOptionalText,
  readWhole,
} from '../request/read-values.ts';
import { decodeOutput, decodeReasoning, decodeSampling } from './decode-controls.ts';
import { decodeTools } from './decode-tools.ts';
import { decodeTurns } from './decode-turns.ts';

/**
 * Also of a request that only counts tokens: then without a limit.
 *
 * @param body Checked by `read-request.ts`.
 * @throws {GatewayError} `invalid_parameter`, naming the parameter.
 */
export function decodeMessagesRequest(body: RequestBody, context: TranslationContext): Conversation {
  const asks: Ask[] = [];
  const note: NoteAsk = (feature, param) => void asks.push({ feature, param });
  const read = (name: string): unknown => readMember(body, name);
  const {
    system,
    turns,
    effort: laterEffort,
  } = decodeTurns(read('system'), readWhole(body, 'messages'), note);
  const tools = decodeTools(readWhole(body, 'tools'), read('tool_choice'), note);
  const config = readOptionalRecord(readWhole(body, 'output_config'), 'output_config');
  const effort = laterEffort ?? readEffort(config, note);
  const limit = decodeLimit(read('max_tokens'), note);
  const reasoning = decodeReasoning(read('thinking'), effort, limit, note);
  const sampling = decodeSampling(read, note);
  const output = decodeOutput(config, readWhole(body, 'output_format'), note);
  const endUser = decodeEndUser(read('metadata'), note);
  const serviceTier = decodeServiceTier(read('service_tier'), note);
  // Requests of one session have the same beginning.
  const session = context.header('x-claude-code-session-id');
  noteOthers(body, note);
  return {
    asks,
    system,
    turns,
    ...tools,
    sampling,
    ...(limit === undefined ? {} : { maxOutputTokens: limit }),
    choices: 1,
    output,
    ...(reasoning ? { reasoning } : {}),
    ...(endUser === undefined ? {} : { endUser }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(session === undefined ? {} : { promptCacheKey: session }),
  };
}

function readEffort(config: JsonRecord | undefined, note: NoteAsk): string | undefined {
  const effort = readOptionalText(config?.effort, 'output_config.effort');
  if (effort !== undefined) note('reasoning', 'output_config.effort');
  const budget = config?.task_budget;
  if (budget !== undefined && budget !== null) note('vendor-member', 'output_config.task_budget');
  return effort;
}

function decodeLimit(value: unknown, note: NoteAsk): number | undefined {
  if (typeof value !== 'number') return undefined;
  note('max-tokens', 'max_tokens');
  // Only fills the prompt cache; other dialects need at least one output token.
  if (value === 0) note('vendor-member', 'max_tokens');
  return Math.max(1, value);
}

function decodeEndUser(metadata: unknown, note: NoteAsk): string | undefined {
  const path = 'metadata.user_id';
  const user = readOptionalText(readOptionalRecord(metadata, 'metadata')?.user_id, path);
  if (!user) return undefined;
  note('end-user', path);
  return user;
}

function decodeServiceTier(tier: unknown, note: NoteAsk): string | undefined {
  if (typeof tier !== 'string' || tier === 'auto') return undefined;
  note('service-tier', 'service_tier');
  return tier === 'standard_only' ? 'default' : undefined;
}

/** Members that are decoded above, or say nothing of the conversation. */
const decoded = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
]);

const others: ReadonlyMap<string, Feature> = new Map<string, Feature>([
  ['cache_control', 'cache-hint'],
  ['context_management', 'context-management'],
  ['mcp_servers', 'hosted-tool'],
  ['thread', 'stored-state'],
  ...[
    'billing_policy',
    'compaction',
    'container',
    'diagnostics',
    'fallbacks',
    'inference_geo',
    'speed',
    'user_profile_id',
    'workspace_id',
  ].map((name) => [name, 'vendor-member'] as const),
]);

function noteOthers(body: RequestBody, note: NoteAsk): void {
  for (const { name } of body.scan.members) {
    if (decoded.has(name)) continue;
    const value = readMember(body, name);
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (isEmpty || (name === 'speed' && value === 'standard')) continue;
    note(others.get(name) ?? 'unknown-member', name);
  }
}
