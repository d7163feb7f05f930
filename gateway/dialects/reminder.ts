// How does a model tell system text from the user's, where an upstream takes system text at the beginning only? It stands in a
// message of the user, marked as what it is.

export function asReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}
