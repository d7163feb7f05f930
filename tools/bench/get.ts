// What does a process on this machine answer to a GET? Its text, whatever its status; no connection is kept.

import { request } from 'node:http';

export function get(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}
