// How are numbers, money and times shown? In the reader's own locale, times with their zone.

export interface Formats {
  number(value: number): string;
  /** `1 key`, `1,024 keys`. */
  counted(value: number, thing: string): string;
  /** Short for large counts: 9.1M. */
  compact(value: number): string;
  /** @param usd decimal text or a number; small amounts keep the digits that say something. */
  money(usd: string | number): string;
  /** The same of a sum of many: with cents, and what is less is said to be so. */
  amount(usd: number): string;
  /** A price, to the last digit. */
  price(usd: string): string;
  /** @param share 0.25 is 25 %. Neither 0 nor 100 % unless it is. */
  percent(share: number): string;
  /** Day and time with the zone. */
  time(rfc3339: string): string;
  /** A text of the operator, with its times in UTC as times here. */
  prose(text: string): string;
  /** To the second, and without its day where that is today. */
  clock(rfc3339: string, nowMs: number): string;
  /** A day that is meant in UTC, as budgets and the ledger count them. */
  day(rfc3339: string): string;
  /** An hour of a chart. */
  hour(rfc3339: string): string;
  /** `5 minutes ago`, `in 3 days`. */
  ago(rfc3339: string, nowMs: number): string;
  /** `12 min`: how long it has been so. */
  lasting(rfc3339: string, nowMs: number): string;
  /** `13 ms`, `1.2 s`, `3 min 5 s`. */
  milliseconds(ms: number): string;
}

/** @param locale undefined: the reader's. @param timeZone undefined: the reader's. */
export function openFormats(locale?: string, timeZone?: string): Formats {
  const zone = timeZone === undefined ? {} : { timeZone };
  const plain = new Intl.NumberFormat(locale);
  const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
  const dollars = (fractionDigits: number) =>
    new Intl.NumberFormat(locale, {
      style: 'currency',
      currency: 'USD',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: Math.min(2, fractionDigits),
      maximumFractionDigits: fractionDigits,
    });
  const cents = dollars(2);
  const fine = dollars(6);
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const moment = new Intl.DateTimeFormat(locale, {
    ...zone,
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  const calendarDay = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', month: 'short', day: 'numeric' });
  const clockHour = new Intl.DateTimeFormat(locale, {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const secondOfDay = new Intl.DateTimeFormat(locale, { ...zone, timeStyle: 'medium', hourCycle: 'h23' });
  const dayHere = new Intl.DateTimeFormat(locale, { ...zone, month: 'short', day: 'numeric' });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  return {
    number: (value) => plain.format(value),
    counted: (value, thing) => `${plain.format(value)} ${thing}${value === 1 ? '' : 's'}`,
    compact: (value) => short.format(value),
    money(usd) {
      // A sum of doubles is a hair off what the same sum is in text: both round alike.
      const value = Number(Number(usd).toPrecision(12));
      if (!Number.isFinite(value)) return String(usd);
      if (value !== 0 && Math.abs(value) < 0.000_001) return `< ${fine.format(0.000_001)}`;
      return value === 0 || Math.abs(value) >= 0.01 ? cents.format(value) : fine.format(value);
    },
    amount: (usd) => (usd > 0 && usd < 0.01 ? `< ${cents.format(0.01)}` : cents.format(usd)),
    price: (usd) => fine.format(Number(usd)),
    percent(value) {
      if (value > 0 && value < 0.0005) return `< ${share.format(0.001)}`;
      return value < 1 && value >= 0.9995 ? `> ${share.format(0.999)}` : share.format(value);
    },
    time: (text) => formatDate(text, moment),
    prose: (text) =>
      text
        // A name at the start is followed by a colon or has signs in it.
        .replace(/^[a-z]+(?= )/, (word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
        .replaceAll(rfc3339, (time) => formatDate(time, moment)),
    clock(text, nowMs) {
      const day = formatDate(text, dayHere);
      const time = formatDate(text, secondOfDay);
      return day === dayHere.format(nowMs) ? time : `${day}, ${time}`;
    },
    day: (text) => formatDate(text, calendarDay),
    hour: (text) => formatDate(text, clockHour),
    ago(text, nowMs) {
      const atMs = Date.parse(text);
      if (Number.isNaN(atMs)) return text;
      const seconds = (atMs - nowMs) / 1000;
      const [unit, size] = unitOf(Math.abs(seconds));
      return relative.format(Math.trunc(seconds / size), unit);
    },
    lasting(text, nowMs) {
      const seconds = Math.max(0, (nowMs - Date.parse(text)) / 1000);
      if (Number.isNaN(seconds)) return text;
      const [unit, size] = unitOf(seconds);
      return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(
        Math.trunc(seconds / size),
      );
    },
    milliseconds(ms) {
      if (Math.round(ms) < 1000) return `${plain.format(Math.round(ms))} ms`;
      if (ms < 59_950) return `${plain.format(Math.round(ms / 100) / 10)} s`;
      const seconds = Math.round(ms / 1000);
      const rest = seconds % 60;
      return `${plain.format(Math.trunc(seconds / 60))} min${rest === 0 ? '' : ` ${rest} s`}`;
    },
  };
}

const rfc3339 = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const satisfies readonly (readonly [Intl.RelativeTimeFormatUnit, number])[];

const unitOf = (seconds: number) => units.find(([, bound]) => seconds >= bound) ?? (['second', 1] as const);

function formatDate(text: string, format: Intl.DateTimeFormat): string {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? text : format.format(atMs);
}

/** Dollars for a token as dollars for a million of them, exactly: the point moves six places. */
export function perMillion(perToken: string): string {
  if (!/^\d+(\.\d+)?$/.test(perToken)) return perToken;
  const [whole = '0', fraction = ''] = perToken.split('.');
  const digits = `${whole}${fraction.padEnd(6, '0')}`;
  const point = whole.length + 6;
  const left = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const right = digits.slice(point).replace(/0+$/, '');
  return right === '' ? left : `${left}.${right}`;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Of a text that the API server has taken, such as 1h30m. */
export function durationMs(text: string): number {
  let sum = 0;
  for (const [, amount, unit = ''] of text.matchAll(/([0-9.]+)(ms|s|m|h)/g))
    sum += Number(amount) * (unitMs[unit] ?? 0);
  return sum;
}

/** `2/3`; undefined where it was not counted. */
export function countOf(part: number | undefined, whole: number | undefined): string | undefined {
  return part === undefined || whole === undefined ? undefined : `${part}/${whole}`;
}
