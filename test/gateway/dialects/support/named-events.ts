// What does an event with a name look like, and how else may upstreams and networks deliver it?

/** A frame as OpenAI and Anthropic write it: the name once more as the data's type. */
export function named(type: string, members: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

const decorate = (text: string): string =>
  text.replaceAll('event: ', ': comment\nid: 17\nretry: 5\nevent: ').replaceAll('\n\n', '\n: end\n\n');

/** The same stream as other upstreams and networks deliver it. */
export function waysToWrite(text: string): Readonly<Record<string, string>> {
  return {
    'as it is': text,
    'CRLF line ends': text.replaceAll('\n', '\r\n'),
    'lone CR line ends': text.replaceAll('\n', '\r'),
    'mixed line ends': text.replace('\n\n', '\r\n\n').replace('\n\n', '\r\r').replace('\n\n', '\n\r\n'),
    'no spaces behind the colons': text.replaceAll('data: ', 'data:').replaceAll('event: ', 'event:'),
    'no event lines': text.replaceAll(/event: .*\n/g, ''),
    'events called messages': text.replaceAll(/event: .*\n/g, 'event: message\n'),
    'no event lines and the type last': text.replaceAll(
      /event: (.*)\ndata: \{"type":"[\w.]+",?(.*)\}\n/g,
      (_, type: string, rest: string) => `data: {${rest}${rest ? ',' : ''} "type" : "${type}"}\n`,
    ),
    'the event line behind the data': text.replaceAll(/(event: .*)\n(data: .*)\n/g, '$2\n$1\n'),
    'comments, ids and retries': decorate(text),
    'comments, ids and retries with CRLF': decorate(text).replaceAll('\n', '\r\n'),
    'data over several lines': text.replaceAll(/^data: \{/gm, 'data: {\ndata:'),
    'a byte order mark': `\uFEFF${text}`,
    'blank lines between events': `\n\n\n${text.replaceAll('\n\n', '\n\n\n')}`,
    'empty data': `event: ping\ndata:\n\ndata: \n\n${text}data:\n\n`,
    'no last blank line': text.trimEnd(),
    'an end in the middle of an event': text.slice(0, text.indexOf('漢')),
    'an end mark of another dialect': `${text}data: [DONE]\n\n`,
    'something after the end': `${text}event: x\ndata: <html>\n\n`,
    'an error': `${text.slice(0, text.indexOf('event: ', text.indexOf('漢')))}event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}\n\n${text}`,
    garbage: `${text.slice(0, text.indexOf('event: ', text.indexOf('漢')))}data: <html>no</html>\n\n${text}`,
  };
}
