// Which kinds of limits are there? One row each, by its member in specs and in the routing table.

interface Row {
  /** In headers, plans and reasons of refusals. */
  readonly name: string;
  /** What it bounds: amounts over a minute, or requests in flight. */
  readonly bounds: 'rate' | 'places';
  readonly max: number;
  /** In the CRD. */
  readonly text: string;
  /** In a refusal, before and after the number. */
  readonly refusal: readonly [before: string, after: string];
  /** Of a field. */
  readonly label: string;
  /** After the number, where there is little room. */
  readonly unit: string;
}

const rows = {
  requestsPerMinute: {
    name: 'requests',
    bounds: 'rate',
    max: 100_000_000,
    text: 'Requests per minute, over all pods.',
    refusal: ['has used up its limit of', 'requests per minute'],
    label: 'Requests per minute',
    unit: 'req/min',
  },
  tokensPerMinute: {
    name: 'tokens',
    bounds: 'rate',
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
    text: 'Requests under way at one time, over all pods.',
    refusal: ['has reached its limit of', 'requests at a time'],
    label: 'Requests at once',
    unit: 'at once',
  },
} as const satisfies Record<string, Row>;

export type LimitMember = keyof typeof rows;
export type LimitName = (typeof rows)[LimitMember]['name'];
export type RateName = Extract<(typeof rows)[LimitMember], { bounds: 'rate' }>['name'];

export const LIMITS: Readonly<Record<LimitMember, Row>> = rows;

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

function isLimitMember(name: string): name is LimitMember {
  return Object.hasOwn(rows, name);
}
