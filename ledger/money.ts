// How is money written? Picodollars inside, decimal dollars for people; exact both ways.

/** 1 USD = 10^12 picodollars. */
const decimals = 12;

/** `0.00342`, `-12`, `0`: all digits, and none too many. */
export function usdOf(picodollars: bigint): string {
  const sign = picodollars < 0n ? '-' : '';
  const digits = (picodollars < 0n ? -picodollars : picodollars).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${sign}${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Of an amount as `usdOf` writes it, however large. */
export function picodollarsIn(usd: string): bigint {
  const [whole = '', fraction = ''] = usd.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}

/** Price of a token in picodollars, from dollars per million tokens: `0.25` is 250,000. Undefined for another form. */
export function picodollarsPerToken(usdPerMillion: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(usdPerMillion) ?? [];
  return whole === undefined ? undefined : BigInt(`${whole}${fraction.padEnd(6, '0')}`);
}

/** Picodollars of an amount of dollars with up to twelve decimals, below a billion. Undefined for another form. */
export function picodollarsOf(usd: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,12}))?$/.exec(usd) ?? [];
  return whole === undefined ? undefined : BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
}
