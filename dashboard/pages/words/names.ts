// Which names does Kubernetes accept for a namespace, and for an object? RFC 1123: a label, and labels separated by dots.

export const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** What to enter in place of a text that is no namespace name. */
export const namespaceProblem = (text: string): string =>
  text === '' ? 'Choose a namespace.' : 'Not a namespace name. Use lower-case letters, digits and "-".';

export const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
