// How does a model distinguish system text from the user's, if an upstream takes system text only at the beginning? Later
// system text goes into a user message and is marked as system text.

export function asReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}
