// Which of two states of the server is the older one?

const decimal = /^(?:0|[1-9]\d*)$/;

/**
 * Versions of one resource are growing numbers; before Kubernetes 1.35 that was true but not promised. A version that is not a number is
 * not compared: nothing is older then.
 */
export function isOlder(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !decimal.test(version) || !decimal.test(than))
    return false;
  // Versions are 64 bits wide, more than a JavaScript number holds.
  return version.length === than.length ? version < than : version.length < than.length;
}
