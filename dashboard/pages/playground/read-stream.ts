// Which text has a streamed answer brought so far? Bytes come in pieces of any size; out come the words, and the gateway's error.

interface StreamReader {
  /** The words that this piece brought. @throws Error with the message of an error event. */
  take(piece: string): string;
  /** Whether the answer said that it is whole. */
  isDone(): boolean;
  /** As the answer counts them; undefined: it has not. */
  tokens(): { readonly input: number; readonly output: number } | undefined;
}

/** Of chat completions: `data:` lines with JSON, and `[DONE]` at the end. */
export function openStreamReader(): StreamReader {
  let rest = '';
  let isDone = false;
  let usage: Chunk['usage'];
  return {
    take(piece) {
      const lines = (rest + piece).split(/\r?\n/);
      rest = lines.pop() ?? '';
      return lines.map(wordsOf).join('');
    },
    isDone: () => isDone,
    tokens: () =>
      usage ? { input: usage.prompt_tokens ?? 0, output: usage.completion_tokens ?? 0 } : undefined,
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
    usage = chunk?.usage ?? usage;
    return chunk?.choices?.[0]?.delta?.content ?? '';
  }
}

interface Chunk {
  readonly error?: { readonly message?: string };
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}

function parsed(data: string): Chunk | undefined {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    return undefined;
  }
}
