// Why did it not start, and what would the person at the terminal do about it? One sentence.

import { type LocalSettings, PORT_FIELDS, portVariables } from './settings.ts';

export function explainStart(error: unknown, settings: LocalSettings): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  const port = 'port' in error ? error.port : undefined;
  const field = PORT_FIELDS.find((name) => settings[name] === port);
  if (field === undefined) return error.message;
  const way = `set ${portVariables[field]} to a free port.`;
  if (code === 'EADDRINUSE') return `Port ${port} is in use by another program; ${way}`;
  if (code === 'EACCES') return `Port ${port} may not be opened by this user; ${way}`;
  return error.message;
}
