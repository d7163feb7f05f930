// Which settings does the simulator process take from its environment? Read once, at the start.

type Settings = { port: number; host: string; models: string[] | undefined };

/** `PORT` (default 9090), `HOST` (default 127.0.0.1; empty: everywhere), `MODELS` (comma-separated ids to list). Throws on a bad value. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  const port = environment.PORT ?? '9090';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Error(`simulator: PORT must be a number from 0 to 65535, not '${port}'`);
  }
  const models = environment.MODELS?.split(',').map((id) => id.trim());
  return {
    port: Number(port),
    host: environment.HOST ?? '127.0.0.1',
    models: models?.filter((id) => id !== ''),
  };
}
