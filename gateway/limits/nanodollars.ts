// In what is money counted that budgets are kept in? Nanodollars, 1 USD = 10^9: numbers hold them exactly up to nine million dollars.

const picodollarsPerNanodollar = 1_000;

/**
 * Never less than it was.
 *
 * @param picodollars Whole ones; as a number they are exact up to nine thousand dollars only.
 */
export function nanodollarsOf(picodollars: number | bigint): number {
  if (typeof picodollars === 'bigint') return Number((picodollars + 999n) / 1_000n);
  const rest = picodollars % picodollarsPerNanodollar;
  return (picodollars - rest) / picodollarsPerNanodollar + (rest > 0 ? 1 : 0);
}
