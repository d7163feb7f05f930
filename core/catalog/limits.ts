// Which kinds of limits are there? One row each, by its member in specs and in the routing table.

/** Windows in milliseconds, by the member of a plan that has the limit. */
const windows = { perMinute: 60_000 } as const;
export type Window = keyof typeof windows;
export const windowNames = Object.keys(windows) as readonly Window[];

/** What a request uses. */
export type Measure = 'requests' | 'tokens';

interface Row {
  /** In headers, plans and reasons of refusals. */
  readonly name: string;
  readonly max: number;
  /** In the CRD. */
  readonly text: string;
  /** In a refusal, before and after the number. */
  readonly refusal: readonly [before: string, after: string];
  /** Of a field. */
  readonly label: string;
  /** After the number, if there is little room. */
  readonly unit: string;
}

/** Bounds what is used in a window. */
interface Rate extends Row {
  readonly bounds: 'rate';
  readonly counts: Measure;
  readonly window: Window;
}

/** Bounds requests in flight. */
interface Places extends Row {
  readonly bounds: 'places';
}

const rows = {
  requestsPerMinute: {
    name: 'requests',
    bounds: 'rate',
    counts: 'requests',
    window: 'perMinute',
    max: 100_000_000,
    text: 'Requests per minute, over all pods.',
    refusal: ['has used up its limit of', 'requests per minute'],
    label: 'Requests per minute',
    unit: 'req/min',
  },
  tokensPerMinute: {
    name: 'tokens',
    bounds: 'rate',
    counts: 'tokens',
    window: 'perMinute',
    max: 1_000_000_000_000,
    text: 'Tokens per minute, input and output, over all pods.',
    refusal: ['has used up its limit of', 'tokens per minute'],
    label: 'Tokens per minute',
    unit: 'tok/min',
  },
  maxConcurrentRequests: {
    name: 'concurrency',
    bounds: 'places',
    max: 1_000_000,
    text: 'Requests in flight, over all pods.',
    refusal: ['has reached its limit of', 'requests at a time'],
    label: 'Requests at once',
    unit: 'at once',
  },
} as const satisfies Record<string, Rate | Places>;

export type LimitMember = keyof typeof rows;
export type LimitName = (typeof rows)[LimitMember]['name'];
export type RateName = Extract<(typeof rows)[LimitMember], { bounds: 'rate' }>['name'];

export const LIMITS: Readonly<Record<LimitMember, Rate | Places>> = rows;

export const limitMembers: readonly LimitMember[] = Object.keys(rows).filter(isLimitMember);

/** By the name of each. */
export const limitMemberOf = Object.fromEntries(
  limitMembers.map((member) => [rows[member].name, member]),
) as Readonly<Record<LimitName, LimitMember>>;

/** In the order in which callers read them. */
export const rateNames: readonly RateName[] = Object.values(rows).flatMap((row) =>
  row.bounds === 'rate' ? [row.name] : [],
);

/** One thing for each limit over time. */
export function byRate<Thing>(make: (name: RateName) => Thing): Readonly<Record<RateName, Thing>> {
  return Object.fromEntries(rateNames.map((name) => [name, make(name)])) as Record<RateName, Thing>;
}

/** How each limit over time is kept. */
export const RATES = Object.fromEntries(
  Object.values(rows).flatMap((row) =>
    row.bounds === 'rate' ? [[row.name, { ...row, windowMs: windows[row.window] }]] : [],
  ),
) as Readonly<Record<RateName, Rate & { readonly windowMs: number }>>;

function isLimitMember(name: string): name is LimitMember {
  return Object.hasOwn(rows, name);
}
