// What does Bedrock refuse in a body that its dialect allows? The name of the end user in messages, unless it has a few characters only:
// clients such as Claude Code write JSON there.

import { hash } from 'node:crypto';
import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import { RequestBody } from '../../json/request-body.ts';
import { type BodyFor, withBodyMembers } from '../body.ts';

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, of `requestMetadata`. */
const takenText = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/;

export const bedrockBody: BodyFor = ({ dialect, operation }, body) => {
  if (dialect !== 'anthropic-messages' || operation !== 'generate') return body;
  const read = new RequestBody(body);
  const member = read.member('metadata');
  const metadata = member && asRecord(parseJson(Buffer.from(read.text(member), 'latin1').toString('utf8')));
  const { user_id: user } = metadata ?? {};
  if (typeof user !== 'string' || takenText.test(user)) return body;
  // A cut name would be the same for many users.
  return withBodyMembers(body, [], { metadata: { ...metadata, user_id: hash('sha256', user, 'hex') } });
};
