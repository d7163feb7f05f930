// Does a streamed chat or completions call ask for its usage?

import { BadRequest, boolean, isAbsent, isBag } from './checks.ts';

/** `stream_options.include_usage`, which is only allowed on a streamed request. */
export function readIncludeUsage(options: unknown, isStream: boolean): boolean {
  if (isAbsent(options)) return false;
  if (!isBag(options)) throw new BadRequest(['stream_options'], 'Input should be an object', 'invalid_type');
  if (!isStream) {
    throw new BadRequest(
      ['stream_options'],
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      'invalid_value',
      { isWhole: true },
    );
  }
  return boolean(options.include_usage, ['stream_options', 'include_usage']) ?? false;
}
