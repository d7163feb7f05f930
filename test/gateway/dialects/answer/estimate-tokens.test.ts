// How far from the truth is an estimate by characters? Held against what o200k_base makes of the same texts.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { estimateTokens } from '../../../../gateway/dialects/answer/estimate-tokens.ts';

test.each([
  [
    'English',
    'The gate opens and the water runs down to the turbine, where it is turned into current for the valley.',
  ],
  [
    'German',
    'Das Tor öffnet sich, und das Wasser läuft hinunter zur Turbine, die daraus Strom für das Tal macht.',
  ],
  [
    'Russian',
    'Ворота открываются, и вода течёт вниз к турбине, которая превращает её в ток для всей долины.',
  ],
  ['Japanese', '水門が開き、水は谷のために電気を作るタービンへと流れ落ちていく。そして川に戻る。'],
  ['Chinese', '闸门打开，水流向下游的涡轮机，在那里变成供山谷使用的电力，然后回到河里。'],
])('%s: by less than a half', (_, text) => {
  const share = estimateTokens(text) / countTokens(text);
  expect(share).toBeGreaterThan(0.67);
  expect(share).toBeLessThan(1.5);
});
