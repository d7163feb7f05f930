// Which environment does a child process of a test get? As little as possible: a developer's own OPENAI_BASE_URL or
// proxy must not decide a test.

export function bareEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept: Record<string, string> = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
  // The last keeps what Node compiled, for all that a run starts.
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'XDG_CACHE_HOME', 'NODE_COMPILE_CACHE']) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
