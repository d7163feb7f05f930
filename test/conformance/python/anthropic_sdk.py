"""What does a program written for the Anthropic SDK see on each upstream dialect? Prints it as JSON."""

import json
import sys

import anthropic

base_url, key, pixel, *upstreams = sys.argv[1:]
client = anthropic.Anthropic(base_url=base_url, api_key=key)
hello = "Hello there"
messages = [{"role": "user", "content": hello}]
seen = {}


def schema(**properties):
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()},
            "required": list(properties), "additionalProperties": False}


def run(name, given):
    return f"sunny in {given['city']}" if name == "weather" else f"noon in {given['zone']}"


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def raised(call):
    try:
        for _ in call() or ():
            pass
    except anthropic.APIStatusError as error:
        return [type(error).__name__, error.status_code, bool(error.request_id)]
    except anthropic.APIError as error:
        return [type(error).__name__]
    return None


def answers():
    whole = client.messages.create(**body)
    with client.messages.stream(**body) as stream:
        deltas = "".join(stream.text_stream)
        final = stream.get_final_message()
    yield "quotes", hello in text_of(whole)
    yield "streams", deltas == text_of(final) == text_of(whole)
    yield "usage", final.usage.output_tokens == whole.usage.output_tokens > 0
    yield "input", final.usage.input_tokens == whole.usage.input_tokens > 0
    yield "stop", final.stop_reason
    yield "request_id", whole._request_id.startswith("req_")
    yield "counts", client.messages.count_tokens(model=model, messages=messages).input_tokens > 0


def tools():
    if not has_tools:
        return
    offered = [{"name": "weather", "input_schema": schema(city="string")},
               {"name": "clock", "input_schema": schema(zone="string")}]
    history = list(messages)
    for turn in range(3):
        asked = {"model": f"{upstream}-calls", "max_tokens": 4000, "messages": history, "tools": offered,
                 "thinking": {"type": "adaptive", "display": "summarized"}}
        if turn % 2:
            with client.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
        else:
            answer = client.messages.create(**asked)
        calls = [block for block in answer.content if block.type == "tool_use"]
        history.append({"role": "assistant", "content": answer.content})
        history.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": run(call.name, call.input)} for call in calls]})
    yield "called", [call.name for call in calls]
    yield "thinking", answer.content[0].type
    form = {"format": {"type": "json_schema", "schema": schema(name="string", people="integer")}}
    yield "structured", json.loads(text_of(client.messages.create(**body, output_config=form)))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}}
    shown = client.messages.create(model=model, max_tokens=200, messages=[
        {"role": "user", "content": [image, {"type": "text", "text": hello}]}])
    yield "image", hello in text_of(shown)


def errors():
    patient = client.with_options(max_retries=0)
    for failure in ("fails-400", "fails-404", "fails-429", "fails-503"):
        yield failure, raised(
            lambda: patient.messages.create(**{**body, "model": f"{upstream}-{failure}"}) and None)
    stranger = anthropic.Anthropic(base_url=base_url, api_key=key + "x")
    yield "key", raised(lambda: stranger.messages.create(**body) and None)
    for failure in ("breaks-first", "breaks-late", "breaks-cut"):
        yield failure, raised(
            lambda: patient.messages.create(**{**body, "model": f"{upstream}-{failure}"}, stream=True))


for upstream in upstreams:
    model = f"on-{upstream}"
    has_tools = upstream != "completions"
    body = {"model": model, "max_tokens": 200, "messages": messages}
    seen[upstream] = {}
    for part in (answers, tools, errors):
        seen[upstream][part.__name__] = dict(part())
    with client.messages.stream(**{**body, "model": f"{upstream}-slow", "max_tokens": 1000}) as leaving:
        for event in leaving:
            if event.type == "content_block_delta":
                break
print(json.dumps(seen))
