// What do OpenAI-shaped upstreams stream? Chunks, and texts of whole answers.

/** A frame with this data. */
export function frame(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'served' };

/** A chat chunk with one choice. */
export function delta(value: unknown, finish: string | null = null, index = 0): Record<string, unknown> {
  return { ...head, choices: [{ index, delta: value, finish_reason: finish }] };
}

/** A completion chunk with one choice. */
export function piece(text: string, finish: string | null = null, index = 0): Record<string, unknown> {
  return {
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_700_000_000,
    choices: [{ text, index, logprobs: null, finish_reason: finish }],
    model: 'served',
  };
}

export const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

export const usageChunk = { ...head, choices: [], usage };

export const done = frame('[DONE]');

/** What OpenAI sends when usage was asked for. */
export const wholeChat = [
  frame({ ...delta({ role: 'assistant', content: '', refusal: null }), usage: null }),
  frame({ ...delta({ content: 'Grüße' }), usage: null }),
  frame({ ...delta({ content: ', 漢字 😀' }), usage: null }),
  frame({ ...delta({}, 'stop'), usage: null }),
  frame(usageChunk),
  done,
].join('');

export const wholeCompletion = [
  frame({ ...piece('Grüße'), usage: null }),
  frame({ ...piece(', 漢字 😀'), usage: null }),
  frame({ ...piece('', 'length'), usage: null }),
  frame({ ...piece('x'), choices: [], usage }),
  done,
].join('');

const decorated = wholeChat.replaceAll('data: {', ': comment\nid: 17\nretry: 5\nevent: message\ndata: {');

const splitOverLines = [
  frame(delta({ content: 'first' })),
  `data: {"choices":[{"index":0,\ndata: "delta":{"content":"second"},\ndata:"finish_reason":"stop"}]}\n\n`,
  done,
].join('');

/** Streams of every kind, whole and broken; each name says what is special about it. */
export const streams: Readonly<Record<string, string>> = {
  'a whole chat': wholeChat,
  'a whole completion': wholeCompletion,
  'CRLF line ends': wholeChat.replaceAll('\n', '\r\n'),
  'lone CR line ends': wholeChat.replaceAll('\n', '\r'),
  'mixed line ends': wholeChat.replace('\n\n', '\r\n\n').replace('\n\n', '\r\r').replace('\n\n', '\n\r\n'),
  'no space behind the colon': wholeChat.replaceAll('data: ', 'data:'),
  'comments, ids, retries and names': decorated,
  'the same with CRLF': decorated.replaceAll('\n', '\r\n'),
  'data over several lines': splitOverLines,
  'data over several lines with CRLF': splitOverLines.replaceAll('\n', '\r\n'),
  'a byte order mark': `\uFEFF${wholeChat}`,
  'half a byte order mark of a stream that starts with a comment': `: x\n\n${wholeChat}`,
  'blank lines between events': `\n\n\n${wholeChat.replaceAll('\n\n', '\n\n\n')}`,
  'empty data': `data:\n\ndata: \n\n${wholeChat}data:\n\n`,
  'no last blank line': wholeChat.trimEnd(),
  'no terminal marker': wholeChat.replace(done, ''),
  'no terminal marker and no last blank line': wholeChat.replace(done, '').trimEnd(),
  'no end at all': frame(delta({ content: 'a' })) + frame(delta({ content: 'b' })),
  'an end in the middle of an event': wholeChat.slice(0, wholeChat.indexOf('漢')),
  'something behind the terminal marker': `${wholeChat}data: <html>\n\n`,
  'two choices': [
    frame(delta({ content: 'a' }, null, 0)),
    frame(delta({ content: 'b' }, 'stop', 1)),
    frame(delta({}, 'length', 0)),
    frame(usageChunk),
    done,
  ].join(''),
  'an error event': frame(delta({ content: 'a' })) + frame({ error: { message: 'no', code: 429 } }) + done,
  'an event that is named an error': `${frame(delta({ content: 'a' }))}event: error\ndata: {"message":"no"}\n\n`,
  garbage: `${frame(delta({ content: 'a' }))}data: <html>no</html>\n\n${done}`,
  'lines that are no fields': `what\nis: this\n\n${wholeChat}`,
  nothing: '',
};
