// Which day is a moment on? Apart from the periods: the threads of SQLite need it, and nothing that checks schemas.

/** `YYYY-MM-DD`, in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
