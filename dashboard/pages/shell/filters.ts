// What is in the address bar? The filters of a view; defaults are left out, and unknown filters are ignored.

/** The default and the allowed words of each filter; without `words` any text. */
type FilterSpec = Readonly<Record<string, { readonly usual: string; readonly words?: readonly string[] }>>;
type Filters<Spec extends FilterSpec> = { readonly [Name in keyof Spec]: string };

export function readFilters<Spec extends FilterSpec>(spec: Spec, search: string): Filters<Spec> {
  const given = new URLSearchParams(search);
  const entries = Object.entries(spec).map(([name, { usual, words }]) => {
    const value = given.get(name);
    return [name, value === null || (words !== undefined && !words.includes(value)) ? usual : value];
  });
  return Object.fromEntries(entries) as Filters<Spec>;
}

/** The search of an address with these changes; what is not of the view, such as the namespace, stays. */
export function writeFilters<Spec extends FilterSpec>(
  spec: Spec,
  search: string,
  changes: Partial<Filters<Spec>>,
): string {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === spec[name]?.usual) next.delete(name);
    else next.set(name, value as string);
  }
  const text = next.toString();
  return text === '' ? '' : `?${text}`;
}
