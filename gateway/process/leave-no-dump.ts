// What does a process leave after a crash? No core dump: its memory holds keys and prompts.

import { writeFileSync } from 'node:fs';

export function leaveNoDump(): void {
  if (process.report) {
    process.report.reportOnFatalError = false;
    process.report.reportOnSignal = false;
    process.report.reportOnUncaughtException = false;
  }
  try {
    // Which kinds of memory a core dump holds (core(5)): none. A pod cannot set its own limit for them.
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Only Linux has it.
  }
}
