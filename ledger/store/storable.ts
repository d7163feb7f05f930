// Which text does every database take?

/** Dimensions of sums are in an index, whose entries have at most 2,704 bytes in Postgres. */
const nameBytesMax = 400;

/** As it is kept, and so looked for. */
export function storableName(name: string): string {
  const text = storable(name);
  // No character has more than three bytes for each half of it.
  if (text.length * 3 <= nameBytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= nameBytesMax) return text;
  // A character that is cut through becomes the sign for one.
  return bytes.subarray(0, nameBytesMax - 3).toString();
}

/** No database takes half a character, and Postgres no NUL: one name must not stop a whole journal. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
