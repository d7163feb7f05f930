// How is usage that the caller has not asked for taken out of events, and every other byte left as it is?

import { JsonStructureError, scanMembers } from '../../json/scan-members.ts';

/** As most providers write it. */
export const nullUsage = ',"usage":null';

/** Takes a null usage out of one or more events. */
export function stripNullUsage(text: string): string {
  return text.replaceAll(nullUsage, '');
}

/**
 * Takes the usage member out of an event: `null`, or an object on a chunk that carries content too.
 * Every other byte stays. Inside generated text quotes are escaped, so what most providers write
 * can be replaced without looking further.
 */
export function stripUsage(data: string): string {
  const rest = stripNullUsage(data);
  if (!rest.includes('"usage"')) return rest;
  try {
    const { members } = scanMembers(rest);
    const at = members.findIndex(({ name }) => name === 'usage');
    const [before, usage, after] = [members[at - 1], members[at], members[at + 1]];
    if (!usage) return rest;
    if (before) return rest.slice(0, before.valueEnd) + rest.slice(usage.valueEnd);
    return rest.slice(0, usage.start) + rest.slice(after ? after.start : usage.valueEnd);
  } catch (error) {
    // Too odd to take apart; a usage member more hurts less than a lost event.
    if (error instanceof JsonStructureError) return rest;
    throw error;
  }
}
