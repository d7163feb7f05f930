# What do the signer and the parser of botocore make of these requests and streams? One JSON line each in, one out.

import json
import sys
from base64 import b64decode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer


def sign(case):
    credentials = Credentials(case['accessKeyId'], case['secretAccessKey'], case.get('sessionToken'))
    request = AWSRequest(
        method='POST',
        url=f"https://{case['host']}{case['path']}{case['query']}",
        data=b64decode(case['body']),
        headers={'content-type': 'application/json'},
    )
    request.context['timestamp'] = case['time']
    signer = SigV4Auth(credentials, case['service'], case['region'])
    signer._modify_request_before_signing(request)
    canonical = signer.canonical_request(request)
    return signer.signature(signer.string_to_sign(request, canonical), request)


def read(case):
    buffer = EventStreamBuffer()
    names = []
    try:
        for chunk in case['chunks']:
            buffer.add_data(b64decode(chunk))
            for event in buffer:
                headers = event.headers
                names.append(headers.get(':event-type') or headers.get(':exception-type') or '')
    except Exception:
        return {'names': names, 'fails': True}
    return {'names': names, 'fails': len(buffer._data) > 0}


for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps(sign(case) if 'host' in case else read(case)))
