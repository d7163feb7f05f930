// Why did it not start, and what to do? Two sentences.

import { type LocalSettings, PORT_FIELDS, portVariables } from './settings.ts';

export function explainStart(error: unknown, settings: LocalSettings): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  const port = 'port' in error ? error.port : undefined;
  const field = PORT_FIELDS.find((name) => settings[name] === port);
  if (field === undefined) return error.message;
  const action = `Set ${portVariables[field]} to a free port.`;
  if (code === 'EADDRINUSE') return `Port ${port} is in use by another program. ${action}`;
  if (code === 'EACCES') return `This user may not open port ${port}. ${action}`;
  return error.message;
}
