// Why did it not start, and what to do? Two sentences.

import { type LocalSettings, PORT_FIELDS, portVariables } from './settings.ts';

type PortField = (typeof PORT_FIELDS)[number];

const listed = new Intl.ListFormat('en-GB', { type: 'conjunction' });

export function explainStart(error: unknown, settings: LocalSettings): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  const port = 'port' in error ? error.port : undefined;
  const field = PORT_FIELDS.find((name) => settings[name] === port);
  if (field === undefined) return error.message;
  if (code === 'EADDRINUSE') return explainTaken([field], settings);
  if (code === 'EACCES')
    return `This user may not open port ${port}. Set ${portVariables[field]} to a free port.`;
  return error.message;
}

/** @param fields Of ports that other programs have. */
export function explainTaken(fields: readonly PortField[], settings: LocalSettings): string {
  const ports = listed.format(fields.map((field) => String(settings[field])));
  const variables = listed.format(fields.map((field) => portVariables[field]));
  return fields.length === 1
    ? `Port ${ports} is in use by another program. Set ${variables} to a free port.`
    : `Ports ${ports} are in use by other programs. Set ${variables} to free ports.`;
}
