# Do these requests and answers have the shapes that the clouds and vendors publish? One JSON line each in, a list of faults out.

import json
import re
import sys
from base64 import b64decode
from importlib import resources

import botocore.session
from botocore.eventstream import EventStreamBuffer
from botocore.validate import ParamValidator
from openai.types.chat import ChatCompletion, ChatCompletionChunk, completion_create_params
from openai.types.responses import Response, ResponseStreamEvent, response_create_params
from anthropic.types import Message, RawMessageStreamEvent, message_create_params
from google.genai import types
from pydantic import TypeAdapter


class Discovery:
    """Schemas of Google's discovery documents: a member that they do not name is refused, as its parser does."""

    def __init__(self, name):
        folder = resources.files('googleapiclient') / 'discovery_cache' / 'documents'
        self.schemas = json.loads((folder / f'{name}.json').read_text())['schemas']

    def faults(self, value, schema, path):
        if '$ref' in schema:
            return self.faults(value, self.schemas[schema['$ref']], path)
        kind = schema.get('type')
        if kind == 'any' or value is None:
            return []
        if kind == 'array':
            if not isinstance(value, list):
                return [f'{path} is no list']
            return [f for at, one in enumerate(value) for f in self.faults(one, schema['items'], f'{path}[{at}]')]
        if kind == 'object':
            if not isinstance(value, dict):
                return [f'{path} is no object']
            known = schema.get('properties', {})
            more = schema.get('additionalProperties')
            found = []
            for name, one in value.items():
                if name in known:
                    found += self.faults(one, known[name], f'{path}.{name}')
                elif more is not None:
                    found += self.faults(one, more, f'{path}.{name}')
                else:
                    found.append(f'{path}.{name} is unknown')
            return found
        if kind == 'string' and not isinstance(value, str):
            return [f'{path} is no string']
        if kind == 'boolean' and not isinstance(value, bool):
            return [f'{path} is no boolean']
        if kind in ('integer', 'number') and (isinstance(value, bool) or not isinstance(value, (int, float))):
            return [f'{path} is no number']
        if 'enum' in schema and value not in schema['enum']:
            return [f'{path} is {value}']
        return []


vertex = Discovery('aiplatform.v1')
bedrock = botocore.session.get_session().get_service_model('bedrock-runtime')
plain = {
    'chat': (completion_create_params.CompletionCreateParamsNonStreaming, ChatCompletion, ChatCompletionChunk),
    'responses': (response_create_params.ResponseCreateParamsNonStreaming, Response, ResponseStreamEvent),
    'messages': (message_create_params.MessageCreateParamsNonStreaming, Message, RawMessageStreamEvent),
}
adapters = {name: tuple(TypeAdapter(one) for one in kinds) for name, kinds in plain.items()}


def typed(adapter, value):
    try:
        adapter.validate_python(value)
        return []
    except Exception as error:
        return [str(error)[:600]]


def events(text):
    for block in text.replace('\r\n', '\n').split('\n\n'):
        data = [line[6:] for line in block.split('\n') if line.startswith('data: ')]
        if data and data[0] != '[DONE]':
            yield json.loads(data[0])


def with_bytes(value, shape):
    """As botocore's own parser gives blobs: bytes, not base64."""
    if shape.type_name == 'blob':
        return b64decode(value)
    if shape.type_name == 'structure' and not getattr(shape, 'is_document_type', False) and isinstance(value, dict):
        return {name: with_bytes(one, shape.members[name]) if name in shape.members else one for name, one in value.items()}
    if shape.type_name == 'list':
        return [with_bytes(one, shape.member) for one in value]
    return value


def by_botocore(value, shape):
    unknown = strays(value, shape, '')
    report = ParamValidator().validate(with_bytes(value, shape), shape)
    return unknown + ([report.generate_report()] if report.has_errors() else [])


def strays(value, shape, path):
    if getattr(shape, 'is_document_type', False):
        return []
    if shape.type_name == 'structure' and isinstance(value, dict):
        found = [f'{path}.{name} is unknown' for name in value if name not in shape.members]
        return found + [f for name, one in value.items() if name in shape.members for f in strays(one, shape.members[name], f'{path}.{name}')]
    if shape.type_name == 'list' and isinstance(value, list):
        return [f for at, one in enumerate(value) for f in strays(one, shape.member, f'{path}[{at}]')]
    return []


def judge_converse(case):
    operation = bedrock.operation_model('ConverseStream' if case['isStream'] else 'Converse')
    faults = by_botocore({'modelId': case['model'], **json.loads(case['request'])}, operation.input_shape)
    body = b64decode(case['answer'])
    if case['status'] != 200:
        return faults
    if not case['isStream']:
        return faults + by_botocore(json.loads(body), operation.output_shape)
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    stream = operation.get_event_stream_output()
    for event in buffer:
        name = event.headers.get(':event-type') or event.headers.get(':exception-type')
        value = json.loads(event.payload)
        value.pop('p', None)
        faults += by_botocore(value, stream.members[name])
    return faults


members = {
    'contents': list[types.Content],
    'systemInstruction': types.Content,
    'tools': list[types.Tool],
    'toolConfig': types.ToolConfig,
    'generationConfig': types.GenerationConfig,
    'safetySettings': list[types.SafetySetting],
}
google = {name: TypeAdapter(kind) for name, kind in members.items()}


def unsigned(text):
    """The simulator's signatures are no base64, so that tests can see whose they are."""
    return re.sub(r'"thoughtSignature":"[^"]*"', '"thoughtSignature":"AAAA"', text)


def judge_google(case):
    """By the types of google-genai, which refuse what they do not know; at Vertex by its discovery document too."""
    request = json.loads(unsigned(case['request']))
    faults = [f'{name} is unknown' for name in request if name not in google]
    for name, value in request.items():
        faults += typed(google[name], value) if name in google else []
    if case['dialect'] == 'vertex':
        faults += vertex.faults(request, vertex.schemas['GoogleCloudAiplatformV1GenerateContentRequest'], 'request')
    if case['status'] != 200:
        return faults
    text = unsigned(b64decode(case['answer']).decode())
    for one in events(text) if case['isStream'] else [json.loads(text)]:
        if 'error' in one:
            continue
        faults += typed(TypeAdapter(types.GenerateContentResponse), one)
        if case['dialect'] == 'vertex':
            faults += vertex.faults(one, vertex.schemas['GoogleCloudAiplatformV1GenerateContentResponse'], 'answer')
    return faults


def is_beside(event):
    """Pings, which the types leave out, and Azure's chunks about filters, which have no object."""
    return event.get('type') == 'ping' or event.get('object') == ''


def judge_plain(case):
    asked, whole, piece = adapters[case['dialect']]
    body = json.loads(case['request'])
    body.pop('stream', None)
    for name in case.get('added', []):
        body.pop(name, None)
    faults = typed(asked, {'model': case['model'], **body})
    if case['status'] != 200:
        return faults
    text = b64decode(case['answer']).decode()
    for one in events(text) if case['isStream'] else [json.loads(text)]:
        if one.get('error') is None and not is_beside(one):
            faults += typed(piece if case['isStream'] else whole, one)
    return faults


for line in sys.stdin:
    case = json.loads(line)
    if case['dialect'] == 'converse':
        found = judge_converse(case)
    elif case['dialect'] in ('gemini', 'vertex'):
        found = judge_google(case)
    else:
        found = judge_plain(case)
    print(json.dumps(found))
