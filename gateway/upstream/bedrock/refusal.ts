// Does AWS refuse what a request was signed with, or only when? The type of a refusal is in a header, before its body.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html

import type { CredentialMeans, JudgeRefusal } from '../credential.ts';

export function judgeRefusal(host: string, { clocks, nowMs }: CredentialMeans): JudgeRefusal {
  return (status, header) => {
    if (status === 401) return 'ended';
    if (status !== 403) return undefined;
    const [type] = header('x-amzn-errortype')?.split(':') ?? [];
    if (type === 'ExpiredTokenException' || type === 'UnrecognizedClientException') return 'ended';
    // It is that of a wrong secret too, which a wrong clock alone tells apart.
    const isOff = type === 'InvalidSignatureException' && clocks.learn(host, header('date'), nowMs());
    return isOff ? 'time' : undefined;
  };
}
