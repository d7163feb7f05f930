"""What does a program that reads streams with an official SDK take them for? Prints a line of JSON for each.

Arguments: the address of the gateway with and without /v1, a key, how many streams at once, and the errands as JSON:
[{"dialect", "way", "model", "first", "count"}]. A line is [number, end, message, text]; the number stands in the prompt.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

base_url, url, key, at_once, errands = sys.argv[1:]
errands = json.loads(errands)
at_once = int(at_once)

# Whichever of the two the environment has.
try:
    import openai

    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
    raisable = (openai.OpenAIError,)
except ImportError:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    raisable = (anthropic.AnthropicError,)


def asked(prompt):
    return [{"role": "user", "content": prompt}]


def chat_iterating(model, prompt):
    for chunk in client.chat.completions.create(model=model, messages=asked(prompt), stream=True):
        yield chunk.choices[0].delta.content or "" if chunk.choices else ""


def chat_helper(model, prompt):
    with client.chat.completions.stream(model=model, messages=asked(prompt)) as stream:
        for event in stream:
            if event.type == "content.delta":
                yield event.delta
        stream.get_final_completion()


def completions_iterating(model, prompt):
    for chunk in client.completions.create(model=model, prompt=prompt, stream=True):
        yield chunk.choices[0].text if chunk.choices else ""


def responses_iterating(model, prompt):
    for event in client.responses.create(model=model, input=prompt, stream=True):
        if event.type == "response.output_text.delta":
            yield event.delta


def responses_helper(model, prompt):
    with client.responses.stream(model=model, input=prompt) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                yield event.delta
        stream.get_final_response()


def messages_iterating(model, prompt):
    for event in client.messages.create(model=model, max_tokens=64, messages=asked(prompt), stream=True):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield event.delta.text


def messages_helper(model, prompt):
    with client.messages.stream(model=model, max_tokens=64, messages=asked(prompt)) as stream:
        yield from stream.text_stream
        stream.get_final_message()


readers = {
    ("openai-chat", "iterating"): chat_iterating,
    ("openai-chat", "helper"): chat_helper,
    ("openai-completions", "iterating"): completions_iterating,
    ("openai-responses", "iterating"): responses_iterating,
    ("openai-responses", "helper"): responses_helper,
    ("anthropic-messages", "iterating"): messages_iterating,
    ("anthropic-messages", "helper"): messages_helper,
}


def read(job):
    given, number = job
    prompt = f"stream {number:06}"
    text = ""
    try:
        for piece in readers[given["dialect"], given["way"]](given["model"], prompt):
            text += piece
    except raisable as error:
        return [number, "raised", str(error), text]
    except Exception as error:
        # What the SDK lets through of its HTTP library; raised all the same.
        if type(error).__module__.split(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        return [number, "raised", str(error), text]
    return [number, "whole", "", text]


jobs = [(errand, errand["first"] + at) for errand in errands for at in range(errand["count"])]
with ThreadPoolExecutor(at_once) as pool:
    for line in pool.map(read, jobs):
        print(json.dumps(line))
