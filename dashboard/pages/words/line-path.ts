// How do values become the path of a line? Pure.

/** Broken where a value is missing; one between two that are missing is a dot. */
export function linePath(
  values: readonly (number | undefined)[],
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  return values
    .map((value, at) => {
      if (value === undefined) return '';
      const place = `${round(x(at))} ${round(y(value))}`;
      if (values[at - 1] !== undefined) return `L${place}`;
      return values[at + 1] === undefined ? `M${place}h0` : `M${place}`;
    })
    .join('');
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Values between two that are missing, by their places: of a line they would be nothing. */
export function alone(values: readonly (number | undefined)[]): readonly (readonly [number, number])[] {
  return values.flatMap((value, at) =>
    value !== undefined && values[at - 1] === undefined && values[at + 1] === undefined
      ? [[at, value] as const]
      : [],
  );
}
