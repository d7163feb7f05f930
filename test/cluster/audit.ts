// What was asked of a server, by whom, and with what answer? Its audit log, parsed.

import { createReadStream, watch } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const eventSchema = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  user: z.object({ username: z.string().default('') }),
  userAgent: z.string().default(''),
  objectRef: z
    .object({
      resource: z.string().default(''),
      subresource: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
      apiGroup: z.string().default(''),
    })
    .optional(),
  responseStatus: z.object({ code: z.number().optional(), message: z.string().default('') }).optional(),
  requestReceivedTimestamp: z.string(),
});

/** Once per request when it ended; for a watch also when it began (`isWatchStart`). */
export interface AuditEvent {
  readonly user: string;
  readonly userAgent: string;
  readonly verb: string;
  readonly uri: string;
  /** Empty where the request was for none, as with `/version`. */
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** 0 where it ended without an answer. */
  readonly status: number;
  /** What the answer said, where it was an error. */
  readonly message: string;
  readonly isWatchStart: boolean;
  readonly receivedAtMs: number;
}

/** All events up to the one whose URI is the marker, which is not among them. */
export async function readAuditLog(file: string, marker: string): Promise<AuditEvent[]> {
  const events = (await textWith(file, marker)).split('\n').slice(0, -1).map(parseAuditLine);
  // Markers of this call and of earlier ones.
  return events.filter(({ uri }) => !markerPattern.test(uri));
}

/**
 * What these users were forbidden, as "verb uri user"; that nothing new comes into a namespace that is going is no matter of
 * rights. Reads a log of any size line by line.
 */
export async function readForbidden(file: string, users: ReadonlySet<string>): Promise<string[]> {
  const forbidden: string[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    // Few lines are worth parsing.
    if (!line.includes('"code":403')) continue;
    const { status, user, verb, uri, message } = parseAuditLine(line);
    if (status !== 403 || !users.has(user) || message.includes(isGoing)) continue;
    forbidden.push(`${verb} ${uri} ${user}`);
  }
  return forbidden;
}

const isGoing = 'because it is being terminated';

export function parseAuditLine(line: string): AuditEvent {
  const event = eventSchema.parse(JSON.parse(line));
  return {
    user: event.user.username,
    userAgent: event.userAgent,
    verb: event.verb,
    uri: event.requestURI,
    group: event.objectRef?.apiGroup ?? '',
    resource: event.objectRef?.resource ?? '',
    subresource: event.objectRef?.subresource ?? '',
    namespace: event.objectRef?.namespace ?? '',
    name: event.objectRef?.name ?? '',
    status: event.responseStatus?.code ?? 0,
    message: event.responseStatus?.message ?? '',
    isWatchStart: event.stage === 'ResponseStarted',
    receivedAtMs: Date.parse(event.requestReceivedTimestamp),
  };
}

const markerPattern = /^\/api\/v1\/namespaces\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function textWith(file: string, marker: string): Promise<string> {
  const watcher = watch(file);
  let text = '';
  let bytesRead = 0;
  const readOn = async () => {
    for await (const piece of createReadStream(file, { start: bytesRead })) {
      const bytes = Buffer.from(piece);
      bytesRead += bytes.length;
      text += bytes.toString('latin1');
    }
    const at = text.indexOf(marker);
    const lineEnd = at < 0 ? -1 : text.indexOf('\n', at);
    return lineEnd < 0 ? undefined : Buffer.from(text.slice(0, lineEnd + 1), 'latin1').toString('utf8');
  };
  try {
    return await new Promise<string>((resolve, reject) => {
      let reading = Promise.resolve();
      const look = () => {
        // One after the other: each reads on where the one before it ended.
        reading = reading
          .then(readOn)
          .then((found) => found !== undefined && resolve(found))
          .then(() => {}, reject);
      };
      watcher.on('change', look);
      watcher.on('error', reject);
      look();
    });
  } finally {
    watcher.close();
  }
}
