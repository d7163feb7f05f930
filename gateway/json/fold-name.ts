// Which names of members are one and the same to a reader that does not look at case?

/**
 * As Go's parser folds them (Unicode, CaseFolding.txt): two characters outside of ASCII fold to letters in it, the sign of kelvin, which is a
 * `k` in lower case, and the long s, which is in lower case already.
 */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll('ſ', 's');
}
