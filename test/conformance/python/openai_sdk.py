"""What does a program written for the OpenAI SDK see on each upstream dialect? Prints it as JSON."""

import json
import sys

import openai
from pydantic import BaseModel

base_url, key, pixel, *upstreams = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=key)
hello = "Hello there"
messages = [{"role": "user", "content": hello}]
limit = {"max_completion_tokens": 200}
seen = {}


class City(BaseModel):
    name: str
    people: int


def schema(name):
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": False}


def run(name, arguments):
    given = json.loads(arguments)
    return f"sunny in {given['city']}" if name == "weather" else f"noon in {given['zone']}"


def raised(call):
    try:
        for _ in call() or ():
            pass
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, bool(error.request_id)]
    except openai.APIError as error:
        return [type(error).__name__]
    return None


def chat():
    whole = client.chat.completions.create(model=model, messages=messages, **limit)
    text = whole.choices[0].message.content
    with client.chat.completions.stream(model=model, messages=messages, stream_options={"include_usage": True},
                                        **limit) as stream:
        final = stream.get_final_completion()
    yield "quotes", hello in text
    yield "streams", final.choices[0].message.content == text
    yield "usage", final.usage.completion_tokens == whole.usage.completion_tokens > 0
    yield "request_id", whole._request_id.startswith("req_")
    if not has_tools:
        return
    names = (("weather", "city"), ("clock", "zone"))
    tools = [{"type": "function", "function": {"name": name, "parameters": schema(argument)}} for name, argument in names]
    history = list(messages)
    for _ in range(3):
        asked = client.chat.completions.create(model=f"{upstream}-calls", messages=history, tools=tools,
                                               reasoning_effort="low").choices[0].message
        history.append(asked)
        for call in asked.tool_calls:
            history.append({"role": "tool", "tool_call_id": call.id,
                            "content": run(call.function.name, call.function.arguments)})
    yield "tools", [call.function.name for call in asked.tool_calls]
    parsed = client.chat.completions.parse(model=model, messages=messages, response_format=City)
    yield "parsed", parsed.choices[0].message.parsed.model_dump()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixel}"}}
    shown = client.chat.completions.create(model=model, messages=[
        {"role": "user", "content": [{"type": "text", "text": hello}, image]}])
    yield "image", hello in shown.choices[0].message.content


def completions():
    several = client.completions.create(model=model, prompt=["first", "second"], n=2, max_tokens=60)
    one = client.completions.create(model=model, prompt=hello, max_tokens=60)
    pieces = client.completions.create(model=model, prompt=hello, max_tokens=60, stream=True)
    yield "indexes", [choice.index for choice in several.choices]
    yield "streams", "".join(chunk.choices[0].text for chunk in pieces if chunk.choices) == one.choices[0].text


def responses():
    bounded = {"model": model, "input": hello, "max_output_tokens": 200}
    whole = client.responses.create(**bounded)
    with client.responses.stream(**bounded) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    yield "quotes", hello in whole.output_text
    yield "streams", deltas == final.output_text == whole.output_text
    yield "usage", final.usage.output_tokens == whole.usage.output_tokens > 0
    if not has_tools:
        return
    names = (("weather", "city"), ("clock", "zone"))
    tools = [{"type": "function", "name": name, "parameters": schema(argument), "strict": True} for name, argument in names]
    history = [{"role": "user", "content": hello}]
    for _ in range(3):
        asked = client.responses.create(model=f"{upstream}-calls", input=history, tools=tools, store=False,
                                        reasoning={"effort": "low", "summary": "auto"},
                                        include=["reasoning.encrypted_content"])
        history += asked.output
        calls = [item for item in asked.output if item.type == "function_call"]
        history += [{"type": "function_call_output", "call_id": call.call_id, "output": run(call.name, call.arguments)}
                    for call in calls]
    yield "tools", [call.name for call in calls]
    yield "reasoning", asked.output[0].type
    yield "parsed", client.responses.parse(model=model, input=hello, text_format=City).output_parsed.model_dump()


def errors():
    patient = client.with_options(max_retries=0)
    for failure in ("fails-400", "fails-404", "fails-429", "fails-503"):
        yield failure, [
            raised(lambda: patient.chat.completions.create(model=f"{upstream}-{failure}", messages=messages) and None),
            raised(lambda: patient.responses.create(model=f"{upstream}-{failure}", input=hello) and None)]
    stranger = openai.OpenAI(base_url=base_url, api_key=key + "x")
    yield "key", raised(lambda: stranger.chat.completions.create(model=model, messages=messages) and None)
    for failure in ("breaks-first", "breaks-late", "breaks-cut"):
        yield failure, [
            raised(lambda: patient.chat.completions.create(model=f"{upstream}-{failure}", messages=messages, stream=True)),
            raised(lambda: patient.responses.create(model=f"{upstream}-{failure}", input=hello, stream=True))]


for upstream in upstreams:
    model = f"on-{upstream}"
    has_tools = upstream != "completions"
    seen[upstream] = {}
    for part in (chat, completions, responses, errors):
        seen[upstream][part.__name__] = dict(part())
    with client.chat.completions.create(model=f"{upstream}-slow", messages=messages, stream=True,
                                        max_completion_tokens=1000) as leaving:
        for chunk in leaving:
            if chunk.choices and chunk.choices[0].delta.content:
                break
print(json.dumps(seen))
