// What is known of a dialect as plain data? One row each: its names, its path and its place. What a dialect does is in its folder of
// `gateway/dialects`. Most dialects are spoken on both sides of the gateway; some by upstreams only.

export type QuestionForm = 'text' | 'turns';

interface UpstreamRow {
  /** In custom resources. */
  readonly api: string;
  /** In a sentence: "its upstream speaks …". */
  readonly phrase: string;
  /** Path after a base URL that ends in `/v1`, of clients and of upstreams. */
  readonly path: string;
  /** Headers of every request in it, unless the caller or the Provider gives them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** `gen_ai.operation.name` of the OpenTelemetry conventions. */
  readonly operation: 'chat' | 'text_completion';
}

interface Row extends UpstreamRow {
  /** In plans and catalogs, for people. */
  readonly spoken: string;
  /** Label of a choice. */
  readonly title: string;
  /** How an error body looks. */
  readonly errorShape: 'openai' | 'messages';
  /** Its place in lists of dialects, and its column in the table of capabilities. */
  readonly column: 0 | 1 | 2 | 3;
  /**
   * What to speak to a target of several dialects: the client's own, then what loses least. Dialects that only upstreams speak come after
   * those named here, and before completions.
   */
  readonly upstreams: readonly string[];
  /** The member that holds the question, and how; the first form is the shorter one. */
  readonly question: { readonly member: string; readonly forms: readonly QuestionForm[] };
  /** The member that bounds the answer. */
  readonly bound: {
    readonly member: string;
    /** What providers call it whose `chatNames` are `current`. */
    readonly current?: string;
    /** The least that every upstream takes. */
    readonly min: number;
    readonly isRequired: boolean;
  };
  /** Members with which a provider stores nothing of a request, where it would by default. */
  readonly unstored?: Readonly<Record<string, unknown>>;
}

// In the order of the CRDs and of every choice.
const rows = {
  'openai-chat': {
    api: 'ChatCompletions',
    spoken: 'chat',
    title: 'Chat completions',
    phrase: 'chat completions',
    path: '/chat/completions',
    errorShape: 'openai',
    headers: [],
    operation: 'chat',
    column: 0,
    upstreams: ['openai-chat', 'openai-responses', 'anthropic-messages', 'openai-completions'],
    question: { member: 'messages', forms: ['turns'] },
    bound: { member: 'max_tokens', current: 'max_completion_tokens', min: 1, isRequired: false },
  },
  'anthropic-messages': {
    api: 'Messages',
    spoken: 'messages',
    title: 'Messages',
    phrase: 'messages',
    path: '/messages',
    errorShape: 'messages',
    // The version that still takes sampling parameters; asked for on every path.
    headers: [['anthropic-version', '2023-06-01']],
    operation: 'chat',
    column: 2,
    // Responses and messages keep each other's reasoning state; chat completions have no place for it.
    upstreams: ['anthropic-messages', 'openai-responses', 'openai-chat', 'openai-completions'],
    question: { member: 'messages', forms: ['turns'] },
    bound: { member: 'max_tokens', min: 1, isRequired: true },
  },
  'openai-responses': {
    api: 'Responses',
    spoken: 'responses',
    title: 'Responses',
    phrase: 'responses',
    path: '/responses',
    errorShape: 'openai',
    headers: [],
    operation: 'chat',
    column: 1,
    upstreams: ['openai-responses', 'anthropic-messages', 'openai-chat', 'openai-completions'],
    question: { member: 'input', forms: ['text', 'turns'] },
    bound: { member: 'max_output_tokens', min: 16, isRequired: false },
    unstored: { store: false },
  },
  'openai-completions': {
    api: 'Completions',
    spoken: 'completions',
    title: 'Completions',
    phrase: 'text completions',
    path: '/completions',
    errorShape: 'openai',
    headers: [],
    operation: 'text_completion',
    column: 3,
    upstreams: ['openai-completions', 'openai-chat', 'openai-responses', 'anthropic-messages'],
    question: { member: 'prompt', forms: ['text'] },
    bound: { member: 'max_tokens', min: 1, isRequired: false },
  },
} as const satisfies Record<string, Row>;

/** Dialects that no client speaks: upstreams that have no other are reached in them. In the order of the CRDs. */
const upstreamRows = {
  'bedrock-converse': {
    api: 'Converse',
    phrase: 'Converse',
    path: '/converse',
    headers: [],
    operation: 'chat',
  },
  'google-generate-content': {
    api: 'GenerateContent',
    phrase: "Gemini's generateContent",
    // After a model's name, which is in the path.
    path: ':generateContent',
    headers: [],
    operation: 'chat',
  },
} as const satisfies Record<string, UpstreamRow>;

/** A dialect that clients speak, and upstreams. */
export type DialectName = keyof typeof rows;
export type UpstreamOnlyName = keyof typeof upstreamRows;
export type UpstreamDialectName = DialectName | UpstreamOnlyName;
export type Api = (typeof rows)[DialectName]['api'];
export type UpstreamApi = Api | (typeof upstreamRows)[UpstreamOnlyName]['api'];
export type Spoken = (typeof rows)[DialectName]['spoken'];
export type ErrorShape = Row['errorShape'];

interface DialectFacts extends Row {
  readonly api: Api;
  readonly spoken: Spoken;
  readonly upstreams: readonly DialectName[];
}

interface UpstreamDialectFacts extends UpstreamRow {
  readonly api: UpstreamApi;
}

export const DIALECTS: Readonly<Record<DialectName, DialectFacts>> = rows;
export const UPSTREAM_DIALECTS: Readonly<Record<UpstreamDialectName, UpstreamDialectFacts>> = {
  ...rows,
  ...upstreamRows,
};

export const dialectNames: readonly DialectName[] = Object.keys(rows).filter(isDialectName);
const upstreamOnlyNames: readonly UpstreamOnlyName[] = Object.keys(upstreamRows).filter(isUpstreamOnly);
export const upstreamDialectNames: readonly UpstreamDialectName[] = [...dialectNames, ...upstreamOnlyNames];

/** In the order of lists of dialects: in the routing table, in conditions and in docs. */
export const dialectsInOrder: readonly DialectName[] = dialectNames.toSorted(
  (a, b) => DIALECTS[a].column - DIALECTS[b].column,
);

export const upstreamDialectsInOrder: readonly UpstreamDialectName[] = [
  ...dialectsInOrder,
  ...upstreamOnlyNames,
];

export const apis: readonly Api[] = dialectNames.map((name) => DIALECTS[name].api);
export const apisInOrder: readonly Api[] = dialectsInOrder.map((name) => DIALECTS[name].api);
export const spokenNames: readonly Spoken[] = dialectNames.map((name) => DIALECTS[name].spoken);

export const upstreamApis: readonly UpstreamApi[] = upstreamDialectNames.map(
  (name) => UPSTREAM_DIALECTS[name].api,
);
export const upstreamApisInOrder: readonly UpstreamApi[] = upstreamDialectsInOrder.map(
  (name) => UPSTREAM_DIALECTS[name].api,
);

export const dialectOfApi: Readonly<Record<Api, DialectName>> = indexBy('api');
export const upstreamDialectOfApi = Object.fromEntries(
  upstreamDialectNames.map((name) => [UPSTREAM_DIALECTS[name].api, name]),
) as Readonly<Record<UpstreamApi, UpstreamDialectName>>;
export const dialectOfSpoken: Readonly<Record<Spoken, DialectName>> = indexBy('spoken');

/** The upstream dialects for a client of each dialect, best first. */
export const upstreamsFor = Object.fromEntries(
  dialectNames.map((client) => {
    const isLast = (name: DialectName): boolean => name === 'openai-completions' && name !== client;
    const { upstreams } = DIALECTS[client];
    const [first, last] = [upstreams.filter((name) => !isLast(name)), upstreams.filter(isLast)];
    return [client, [...first, ...upstreamOnlyNames, ...last]];
  }),
) as Record<string, readonly UpstreamDialectName[]> as Readonly<
  Record<DialectName, readonly UpstreamDialectName[]>
>;

/** Where clients call it. */
export function clientPathOf(name: DialectName): string {
  return `/v1${DIALECTS[name].path}`;
}

export function isUpstreamOnly(name: string): name is UpstreamOnlyName {
  return Object.hasOwn(upstreamRows, name);
}

function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(rows, name);
}

function indexBy<Member extends 'api' | 'spoken'>(member: Member) {
  type Index = Readonly<Record<(typeof rows)[DialectName][Member], DialectName>>;
  return Object.fromEntries(dialectNames.map((name) => [rows[name][member], name])) as Index;
}
