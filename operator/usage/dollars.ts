// How is money written in a status? As decimal dollars down to a millionth, which is as fine as a budget's limit can be; whole
// numbers all the way, no float.

const decimals = 6;
const picodollarsPerMicrodollar = 1_000_000n;

/** `41.237`, `0.00`: what is left below a millionth is cut off, so a spend below its limit never looks as if it had reached it. */
export function dollarsOf(picodollars: bigint): string {
  const micros = (picodollars / picodollarsPerMicrodollar).toString().padStart(decimals + 1, '0');
  const fraction = micros.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${micros.slice(0, -decimals)}.${fraction}`;
}

/** Millionths of a dollar. Undefined: it is no such amount. */
export function microdollarsOf(dollars: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,20})(?:\.(\d{1,6}))?$/.exec(dollars) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(decimals, '0'));
}
