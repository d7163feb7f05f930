// What has arrived of a streamed answer? Bytes come in pieces of any size; out come the words, and what the gateway says went wrong.

interface StreamReader {
  /** The words that this piece brought. @throws Error with the message of an error event. */
  take(piece: string): string;
  /** Whether the answer said that it is whole. */
  isDone(): boolean;
}

/** Of chat completions: `data:` lines with JSON, and `[DONE]` at the end. */
export function openStreamReader(): StreamReader {
  let rest = '';
  let isDone = false;
  return {
    take(piece) {
      const lines = (rest + piece).split(/\r?\n/);
      rest = lines.pop() ?? '';
      return lines.map(wordsOf).join('');
    },
    isDone: () => isDone,
  };

  function wordsOf(line: string): string {
    if (!line.startsWith('data:')) return '';
    const data = line.slice(5).trim();
    if (data === '[DONE]') {
      isDone = true;
      return '';
    }
    const chunk = parsed(data);
    if (chunk?.error?.message !== undefined) throw new Error(chunk.error.message);
    return chunk?.choices?.[0]?.delta?.content ?? '';
  }
}

interface Chunk {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}

function parsed(data: string): Chunk | undefined {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    return undefined;
  }
}
