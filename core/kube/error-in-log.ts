// What does the log say of an unexpected error? Its type and its place in the code; its message only if it is ours.
// Messages of the language and of Node quote values, such as a piece of invalid JSON.

export function errorInLog(error: unknown): string {
  if (!(error instanceof Error)) return `not an error, but ${typeof error}`;
  const { name, message, stack = '' } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const isOurs = error.constructor === Error && code === undefined;
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
  return [[name, code, isOurs ? message : undefined].filter(Boolean).join(': '), ...frames].join('\n');
}
