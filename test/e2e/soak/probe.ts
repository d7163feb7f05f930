// What does this process hold on to? Loaded into a process under test with --import, and --expose-gc beside it; each SIGWINCH,
// which nobody else listens to, has it collect its garbage and say what is left.

process.on('SIGWINCH', () => {
  // Twice: what a finalizer lets go of in the first is collected in the second.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const held = {
    memoryMib: Math.round(((heapUsed + external) / 2 ** 20) * 100) / 100,
    timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
  };
  process.stdout.write(`${JSON.stringify({ message: 'held', held })}\n`);
});
