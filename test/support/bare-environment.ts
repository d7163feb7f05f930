// Which environment does a child process of a test get? As little as possible: a developer's own OPENAI_BASE_URL or
// proxy must not decide a test.

export function bareEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept: Record<string, string> = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'XDG_CACHE_HOME']) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  // Keeps what Node compiled, for all that a run starts.
  const compiled = env[compiledInRunVariable] ?? env.NODE_COMPILE_CACHE;
  if (compiled !== undefined) kept.NODE_COMPILE_CACHE = compiled;
  return kept;
}

/** The compile cache of the programs that a run starts: it ends with the run, as many lie where no other run has them. */
export const compiledInRunVariable = 'PENSTOCK_COMPILED_IN_RUN';
