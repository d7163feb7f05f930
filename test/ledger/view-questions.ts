// What do the views of a dashboard ask the ledger? The windows of its overview, with and without a namespace.

export interface ViewQuestion {
  /** Path and query. */
  readonly path: string;
  readonly window: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Those of whole hours or days reach to the end of the present one. */
const windows = [
  { window: '1 h', lastsMs: hourMs, unitMs: minuteMs, interval: 'minute' },
  { window: '24 h', lastsMs: dayMs, unitMs: hourMs, interval: 'hour' },
  { window: '7 d', lastsMs: 7 * dayMs, unitMs: hourMs, interval: 'hour' },
  { window: '30 d', lastsMs: 30 * dayMs, unitMs: dayMs, interval: 'day' },
] as const;

/** @param namespace One that was used. */
export function viewQuestions(nowMs: number, namespace: string): readonly ViewQuestion[] {
  return windows.flatMap(({ window, lastsMs, unitMs, interval }) => {
    const toMs = Math.ceil(nowMs / unitMs) * unitMs;
    const name = (ms: number) => new Date(ms).toISOString().slice(0, unitMs === dayMs ? 10 : undefined);
    const stretch = `from=${name(toMs - lastsMs)}&to=${name(toMs)}`;
    // Hours of thousands of keys in a week are nothing to be drawn: by key, what is longer than a day is asked for in days.
    const days = (ms: number) => new Date(Math.ceil(ms / dayMs) * dayMs).toISOString().slice(0, 10);
    const inDays = `from=${days(toMs - lastsMs)}&to=${days(toMs)}&interval=day`;
    const inTime = (by: string) =>
      by === 'apiKey' && lastsMs > dayMs ? inDays : `${stretch}&interval=${interval}`;
    return ['', `&namespace=${namespace}`].flatMap((where) => {
      const dimensions = where === '' ? ['model', 'apiKey', 'namespace', 'provider'] : ['model', 'apiKey'];
      return [
        `/v1/sums?${stretch}`,
        `/v1/series?${stretch}&interval=${interval}`,
        ...dimensions.map((by) => `/v1/series?${inTime(by)}&by=${by}&top=7`),
        `/v1/requests?${stretch}&interval=${interval}`,
        `/v1/models?${stretch}`,
        `/v1/keys?${stretch}&limit=50`,
        `/v1/namespaces?${stretch}`,
        `/v1/health?${stretch}`,
        `/v1/health?${stretch}&route=platform/model-0`,
        '/v1/budgets?limit=1000',
      ].map((path) => ({ path: path + where, window }));
    });
  });
}
