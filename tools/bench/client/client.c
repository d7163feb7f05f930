// A load client without trust: one epoll thread, closed or open loop, every answer checked to its last byte.
//
//   client --port P --model M [options]
//     --connections C      connections, each with one request at a time (default 1)
//     --seconds S          length of the measured window (default 3)
//     --lead-ms L          load before the window opens (default 300)
//     --ramp-ms R          spreads the first requests over this time (default 0)
//     --rate N             open loop: N requests a second, latency counted from the scheduled start, never from the send
//     --events N           streams of N events (plus what ends them); without it one JSON answer is expected
//     --dialect D          openai-chat (default), anthropic-messages or openai-responses; the last two with --events only
//     --body-bytes B       exact size of the request body (default 1024)
//     --authorization V    value of the Authorization header
//     --path P             default: the dialect's
//     --may-refuse         503 with code "overloaded" is a refusal, counted apart, and no bad answer
//     --every-latency      the result names each latency too, in ms: those of several runs can be put together
//     --hold               opens C streams and keeps them open until standard input closes
//
// It prints JSON lines: {"event":"measuring"} when the window opens ({"event":"open"} when all streams of --hold are asked
// for), {"event":"result",...} when it ends. Then it stops reading and waits for its standard input to close, so that
// whoever measures the proxy can look at it before connections fall. It ends at once when standard input closes earlier.
#define _GNU_SOURCE
#include "../wire/http1.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define READ_BYTES (256 * 1024)
#define TEXT_BYTES_MAX (256 * 1024)
#define SAMPLE_BYTES 300
#define BAD_MAX 500 // more than this is a broken target: the run ends early and says so
#define BODY_BYTES_TOLERANCE 512 // a gateway may rewrite the model name, nothing else

enum bad { BAD_CONNECT, BAD_BROKEN_OFF, BAD_FRAMING, BAD_STATUS, BAD_ANSWER, BAD_BODY_SIZE, BAD_EVENTS, BAD_END, BAD_KINDS };
static const char *bad_names[BAD_KINDS] = {"connect", "brokenOff", "framing", "status", "answer", "bodySize", "events", "end"};

// One event of a stream whose events have names: when it may come, and what its data must hold besides its type.
enum { IS_CONTENT = 1, IS_USAGE = 2, IS_END = 4 };
#define ANY_STEP (-1)
struct moment {
  const char *name;
  int from, to;
  unsigned is;
  const char *holds;
};

// How a client speaks: what it sends, and which events make up a whole streamed answer.
struct dialect {
  const char *name, *path, *head, *messages, *settings, *stream_settings;
  const struct moment *moments; // none: the events of chat completions have no names
};

static const struct moment messages_moments[] = {
  {"message_start", 0, 1, 0, "\"role\":\"assistant\""},
  {"content_block_start", 1, 2, 0, "\"type\":\"text\""},
  {"content_block_delta", 2, 2, IS_CONTENT, "\"type\":\"text_delta\""},
  {"content_block_stop", 2, 3, 0, "\"index\":0"},
  {"message_delta", 3, 4, IS_USAGE, "\"stop_reason\":\"end_turn\""},
  {"message_stop", 4, 5, IS_END, ""},
  {"ping", ANY_STEP, ANY_STEP, 0, ""},
  {0},
};

static const struct moment responses_moments[] = {
  {"response.created", 0, 1, 0, "\"status\":\"in_progress\""},
  {"response.in_progress", 1, 2, 0, "\"status\":\"in_progress\""},
  {"response.output_item.added", 2, 3, 0, "\"type\":\"message\""},
  {"response.content_part.added", 3, 4, 0, "\"type\":\"output_text\""},
  {"response.output_text.delta", 4, 4, IS_CONTENT, "\"output_index\":0"},
  {"response.output_text.done", 4, 5, 0, "\"text\":\"@"},
  {"response.content_part.done", 5, 6, 0, "\"text\":\"@"},
  {"response.output_item.done", 6, 7, 0, "\"text\":\"@"},
  {"response.completed", 7, 8, IS_USAGE | IS_END, "\"text\":\"@"},
  {0},
};

static const struct dialect dialects[] = {
  {"openai-chat", "/v1/chat/completions", "", "messages", ",\"temperature\":0.7",
    ",\"stream\":true,\"stream_options\":{\"include_usage\":true}", NULL},
  {"anthropic-messages", "/v1/messages", "anthropic-version: 2023-06-01\r\n", "messages",
    ",\"max_tokens\":4096,\"temperature\":0.7", ",\"stream\":true", messages_moments},
  {"openai-responses", "/v1/responses", "", "input", ",\"temperature\":0.7,\"store\":false", ",\"stream\":true",
    responses_moments},
};

struct samples {
  uint32_t *tenth_us;
  size_t len, cap;
};

enum phase { PHASE_CONNECTING, PHASE_IDLE, PHASE_BUSY };

struct conn {
  int fd;
  enum phase phase;
  size_t sent; // bytes of the request written
  bool wants_out, is_in_body, is_closing;
  int64_t began_ns; // closed loop: when the request was begun; open loop: when it was due
  int64_t sent_ns;
  char head[HEAD_BYTES_MAX];
  size_t head_len;
  int status;
  struct body body;
  char *text; // unary: the body so far; stream: the line so far
  size_t text_len, text_cap;
  int events;
  bool has_usage, has_done, has_error;
  const struct moment *moment; // named by the last `event:` line, until its data came
  int step;
  int64_t first_event_ns;
};

static int port, connections = 1, lead_ms = 300, ramp_ms, expected_events, hold, may_refuse, every_latency;
static double seconds = 3, rate;
static size_t body_bytes = 1024;
static const char *model, *authorization, *path;
static const struct dialect *dialect = &dialects[0];

static int epoll_fd, timer_fd;
static char read_buffer[READ_BYTES];
static char *request;
static size_t request_len;
static struct conn *conns;
static struct conn **idle;
static int idle_len;
static int64_t start_ns, window_ns, end_ns, read_ns;
static bool is_measuring;
static uint64_t good, refused, bad, bads[BAD_KINDS], events_seen, reconnects, due_index, first_due, written, lost;
static struct samples latency, first_event, event_delay, refusal;
static char sample[SAMPLE_BYTES * 6 + 1];

// --- numbers -----------------------------------------------------------------------------------------------------

static void add_sample(struct samples *s, int64_t ns) {
  if (!is_measuring) return;
  if (s->len == s->cap) {
    s->cap = s->cap ? s->cap * 2 : 65536;
    s->tenth_us = must_realloc(s->tenth_us, s->cap * sizeof *s->tenth_us);
  }
  int64_t tenth_us = ns / 100;
  s->tenth_us[s->len++] = tenth_us < 0 ? 0 : tenth_us > UINT32_MAX ? UINT32_MAX : (uint32_t)tenth_us;
}

static int by_size(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void print_samples(const char *name, struct samples *s) {
  if (!s->len) {
    printf(",\"%s\":null", name);
    return;
  }
  qsort(s->tenth_us, s->len, sizeof *s->tenth_us, by_size);
  double sum = 0;
  for (size_t i = 0; i < s->len; i++) sum += s->tenth_us[i];
  printf(",\"%s\":{\"count\":%zu,\"mean\":%.4f,\"p50\":%.4f,\"p99\":%.4f,\"max\":%.4f}", name, s->len, sum / (double)s->len / 1e4,
    s->tenth_us[(s->len - 1) / 2] / 1e4, s->tenth_us[(size_t)((double)(s->len - 1) * 0.99)] / 1e4, s->tenth_us[s->len - 1] / 1e4);
}

static void print_each(const char *name, const struct samples *s) {
  printf(",\"%s\":[", name);
  for (size_t i = 0; i < s->len; i++) printf("%s%.4f", i ? "," : "", s->tenth_us[i] / 1e4);
  printf("]");
}

static void print_result(double window_s, uint64_t unfinished) {
  printf("{\"event\":\"result\",\"seconds\":%.4f,\"good\":%llu,\"refused\":%llu,\"bad\":%llu,\"gaveUp\":%s", window_s,
    (unsigned long long)good, (unsigned long long)refused, (unsigned long long)bad, bad > BAD_MAX ? "true" : "false");
  printf(",\"events\":%llu,\"unfinished\":%llu,\"reconnects\":%llu,\"lost\":%llu,\"badReasons\":{", (unsigned long long)events_seen,
    (unsigned long long)unfinished, (unsigned long long)reconnects, (unsigned long long)lost);
  const char *comma = "";
  for (int i = 0; i < BAD_KINDS; i++) {
    if (!bads[i]) continue;
    printf("%s\"%s\":%llu", comma, bad_names[i], (unsigned long long)bads[i]);
    comma = ",";
  }
  printf("},\"firstBad\":\"%s\"", sample);
  print_samples("latencyMs", &latency);
  if (every_latency) print_each("latenciesMs", &latency);
  print_samples("firstEventMs", &first_event);
  print_samples("eventDelayMs", &event_delay);
  print_samples("refusalMs", &refusal);
  printf("}\n");
  fflush(stdout);
}

// --- the request -------------------------------------------------------------------------------------------------

// Prose with a line break every sentence and a quotation now and then: about one JSON escape in 60 bytes, as in real prompts.
static size_t write_prose(char *to, size_t len, size_t seed) {
  static const char *words[] = {"the ", "gate ", "opens ", "and ", "water ", "falls ", "through ", "a ", "pipe ", "into ",
    "light ", "for ", "whole ", "valley ", "while ", "somebody ", "upstream ", "said ", "\\\"wait\\\" ", "twice.\\n"};
  size_t at = 0;
  for (size_t i = seed * 7;; i++) {
    const char *word = words[i % 20 == 18 && i % 3 ? 4 : i % 20];
    size_t n = strlen(word);
    if (at + n > len) break;
    memcpy(to + at, word, n);
    at += n;
  }
  memset(to + at, 'x', len - at);
  return len;
}

static size_t put(char *to, const char *text) {
  size_t n = strlen(text);
  memcpy(to, text, n);
  return n;
}

// A conversation of messages of about 2 KB, `model` first and `stream` last, as the official SDKs write it.
static void build_request(void) {
  char start[256], end[160];
  snprintf(start, sizeof start, "{\"model\":\"%s\",\"%s\":[", model, dialect->messages);
  snprintf(end, sizeof end, "]%s%s}", dialect->settings, expected_events || hold ? dialect->stream_settings : "");
  static const char *open_message[] = {"{\"role\":\"user\",\"content\":\"", "{\"role\":\"assistant\",\"content\":\""};
  size_t fixed = strlen(start) + strlen(end) + strlen(open_message[0]) + 2;
  if (body_bytes < fixed) {
    fprintf(stderr, "--body-bytes %zu is too small: this request needs at least %zu\n", body_bytes, fixed);
    exit(2);
  }
  char *body = must_realloc(NULL, body_bytes + 1);
  size_t at = put(body, start);
  size_t message_bytes = 2048;
  int i = 0;
  // The last message is the caller's and takes what is left.
  while (body_bytes - at > 3 * message_bytes || i % 2 == 1) {
    at += put(body + at, open_message[i % 2]);
    at += write_prose(body + at, message_bytes - 64, (size_t)i);
    at += put(body + at, "\"},");
    i++;
  }
  at += put(body + at, open_message[0]);
  at += write_prose(body + at, body_bytes - at - strlen(end) - 2, (size_t)i);
  at += put(body + at, "\"}");
  at += put(body + at, end);

  request = must_realloc(NULL, at + 2048);
  int head = snprintf(request, 2048,
    "POST %s HTTP/1.1\r\nhost: bench.test\r\naccept: application/json\r\nuser-agent: bench\r\n"
    "content-type: application/json\r\n%s%s%s%scontent-length: %zu\r\n\r\n",
    path, dialect->head, authorization ? "authorization: " : "", authorization ? authorization : "", authorization ? "\r\n" : "", at);
  memcpy(request + head, body, at);
  request_len = (size_t)head + at;
  free(body);
}

// --- connections -------------------------------------------------------------------------------------------------

static void watch(struct conn *c, bool out) {
  if (c->wants_out == out) return;
  c->wants_out = out;
  struct epoll_event ev = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

// The first bad bytes, as a JSON string: a count alone explains nothing.
static void keep_sample(const char *text, size_t len) {
  if (sample[0] || !text) return;
  char *to = sample;
  for (size_t i = 0; i < len && i < SAMPLE_BYTES; i++) {
    unsigned char ch = (unsigned char)text[i];
    if (ch == '"' || ch == '\\') {
      *to++ = '\\';
      *to++ = (char)ch;
    } else if (ch < 32 || ch > 126) {
      to += sprintf(to, "\\u%04x", ch);
    } else {
      *to++ = (char)ch;
    }
  }
  *to = 0;
}

static void note_bad(enum bad why, const char *text, size_t len) {
  bad++;
  bads[why]++;
  keep_sample(text, len);
}

static void start_connect(struct conn *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) die("the client cannot open a socket");
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
  c->phase = PHASE_CONNECTING;
  c->wants_out = true;
  // A refusal shows in the event loop, as an error on this socket, and is counted there.
  (void)!connect(c->fd, (struct sockaddr *)&to, sizeof to);
  struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &ev);
}

static void reconnect(struct conn *c) {
  for (int i = idle_len - 1; i >= 0; i--)
    if (idle[i] == c) idle[i] = idle[--idle_len];
  close(c->fd);
  reconnects++;
  start_connect(c);
}

static void write_request(struct conn *c) {
  ssize_t n = send(c->fd, request + c->sent, request_len - c->sent, MSG_NOSIGNAL);
  if (n > 0) c->sent += (size_t)n;
  if (c->sent == request_len) written++;
  watch(c, c->sent < request_len);
}

static void begin_request(struct conn *c, int64_t began_ns) {
  c->phase = PHASE_BUSY;
  c->began_ns = began_ns;
  c->sent_ns = now_ns();
  c->sent = 0;
  c->head_len = c->text_len = 0;
  c->is_in_body = c->is_closing = c->has_usage = c->has_done = c->has_error = false;
  c->events = c->step = 0;
  c->moment = NULL;
  c->first_event_ns = 0;
  write_request(c);
}

static int64_t due_ns(uint64_t index) {
  return start_ns + (int64_t)((double)index * 1e9 / rate);
}

// Open loop: as long as a request is due and a connection is free. What finds none keeps its due time and waits.
static void begin_due_requests(int64_t now) {
  while (idle_len && due_ns(due_index) <= now) begin_request(idle[--idle_len], due_ns(due_index++));
}

static void next_request(struct conn *c) {
  if (rate > 0) {
    c->phase = PHASE_IDLE;
    idle[idle_len++] = c;
    begin_due_requests(now_ns());
    return;
  }
  int64_t now = now_ns();
  int64_t first = start_ns + (int64_t)(c - conns) * ramp_ms * 1000000 / connections;
  if (first > now) { // ramp: the timer begins it
    c->phase = PHASE_IDLE;
    return;
  }
  begin_request(c, now);
}

// --- answers -----------------------------------------------------------------------------------------------------

static const char *find(const char *text, size_t len, const char *what) {
  return memmem(text, len, what, strlen(what));
}

// The send time of an event, or 0 where the line carries none.
static int64_t read_stamp(const char *text, size_t len) {
  const char *p = memchr(text, '@', len);
  if (!p || (size_t)(text + len - p) < 21 || p[20] != '@') return 0;
  int64_t ns = 0;
  for (int i = 1; i <= 19; i++) ns = ns * 10 + (p[i] - '0');
  return ns;
}

static void take_content(struct conn *c, int64_t stamp) {
  c->events++;
  if (is_measuring) events_seen++;
  add_sample(&event_delay, read_ns - stamp);
  if (!c->first_event_ns) c->first_event_ns = read_ns;
}

static void note_error(struct conn *c, const char *line, size_t len) {
  c->has_error = true;
  keep_sample(line, len);
}

static void take_chat_data(struct conn *c, const char *data, size_t len) {
  int64_t stamp = read_stamp(data, len);
  if (stamp && !c->has_done) {
    take_content(c, stamp);
  } else if (len == 6 && memcmp(data, "[DONE]", 6) == 0) {
    c->has_done = true;
  } else if (find(data, len, "\"usage\":{") && !c->has_done) {
    c->has_usage = true;
  } else {
    note_error(c, data, len);
  }
}

static void take_event_name(struct conn *c, const char *name, size_t len) {
  c->moment = dialect->moments;
  while (c->moment->name && (strlen(c->moment->name) != len || memcmp(c->moment->name, name, len) != 0)) c->moment++;
  if (c->moment->name) return;
  c->moment = NULL;
  note_error(c, name, len);
}

// The mock counts an event as a token.
static bool tells_usage(const char *data, size_t len) {
  static const char member[] = "\"output_tokens\":";
  const char *p = find(data, len, member);
  return p && strtol(p + sizeof member - 1, NULL, 10) == expected_events; // the data ends with '}', so this stops
}

// Data of an event with a name: in its place, of the type that the name says, and with all that belongs into it.
static bool is_sound(const struct conn *c, const char *data, size_t len) {
  const struct moment *m = c->moment;
  if (!m || c->has_done || (m->from != ANY_STEP && m->from != c->step) || data[len - 1] != '}') return false;
  char type[64];
  snprintf(type, sizeof type, "\"type\":\"%s\"", m->name);
  return find(data, len, type) && find(data, len, m->holds) && (!(m->is & IS_CONTENT) || read_stamp(data, len)) &&
         (!(m->is & IS_USAGE) || tells_usage(data, len));
}

static void take_named_data(struct conn *c, const char *data, size_t len) {
  const struct moment *m = c->moment;
  if (!len || !is_sound(c, data, len)) {
    note_error(c, data, len);
    return;
  }
  c->moment = NULL;
  if (m->to != ANY_STEP) c->step = m->to;
  if (m->is & IS_CONTENT) take_content(c, read_stamp(data, len));
  if (m->is & IS_USAGE) c->has_usage = true;
  if (m->is & IS_END) c->has_done = true;
}

static void take_line(struct conn *c, const char *line, size_t len) {
  if (len && line[len - 1] == '\r') len--;
  if (len >= 6 && memcmp(line, "data: ", 6) == 0) {
    if (dialect->moments) take_named_data(c, line + 6, len - 6);
    else take_chat_data(c, line + 6, len - 6);
  } else if (dialect->moments && len >= 7 && memcmp(line, "event: ", 7) == 0) {
    take_event_name(c, line + 7, len - 7);
  }
}

static void append_text(struct conn *c, const char *p, size_t n) {
  if (c->text_len + n > TEXT_BYTES_MAX) n = TEXT_BYTES_MAX - c->text_len;
  if (c->text_len + n > c->text_cap) {
    c->text_cap = (c->text_len + n) * 2;
    c->text = must_realloc(c->text, c->text_cap);
  }
  memcpy(c->text + c->text_len, p, n);
  c->text_len += n;
}

static void take_answer(void *owner, const char *p, size_t n) {
  struct conn *c = owner;
  if (c->status != 200 || (!expected_events && !hold)) {
    append_text(c, p, n);
    return;
  }
  const char *end = p + n;
  while (p < end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    if (!newline) {
      append_text(c, p, (size_t)(end - p));
      return;
    }
    if (c->text_len) {
      append_text(c, p, (size_t)(newline - p));
      take_line(c, c->text, c->text_len);
      c->text_len = 0;
    } else {
      take_line(c, p, (size_t)(newline - p));
    }
    p = newline + 1;
  }
}

static enum bad judge(struct conn *c) {
  if (c->status != 200) return BAD_STATUS;
  if (expected_events) {
    if (c->has_error) return BAD_ANSWER;
    if (c->events != expected_events) return BAD_EVENTS;
    return c->has_usage && c->has_done && !c->text_len ? BAD_KINDS : BAD_END;
  }
  const char *tokens = find(c->text, c->text_len, "\"prompt_tokens\":");
  if (!tokens || !read_stamp(c->text, c->text_len) || !find(c->text, c->text_len, "\"finish_reason\":\"stop\"") ||
      c->text[c->text_len - 1] != '}')
    return BAD_ANSWER;
  tokens += 16;
  while (*tokens == ' ') tokens++; // the text ends with '}', so this stops
  long long off = strtoll(tokens, NULL, 10) - (long long)body_bytes;
  return llabs(off) <= BODY_BYTES_TOLERANCE ? BAD_KINDS : BAD_BODY_SIZE;
}

static void finish(struct conn *c) {
  enum bad why = judge(c);
  // Open loop: a request that was due before the window opened belongs to the lead.
  // With refusals allowed, every answer in the window counts: over capacity, a caller keeps its own backlog of due requests.
  bool counts = is_measuring && (may_refuse || !(rate > 0 && c->began_ns < window_ns));
  bool is_refused = may_refuse && c->status == 503 && find(c->text, c->text_len, "\"code\":\"overloaded\"");
  if (is_refused) {
    if (counts) {
      refused++;
      add_sample(&refusal, read_ns - c->began_ns);
    }
  } else if (hold) {
    lost++;
    if (why != BAD_KINDS) note_bad(why, c->text, c->text_len);
  } else if (why != BAD_KINDS) {
    // Errors count from the first request on: a target that fails while it warms up has failed.
    note_bad(why, c->text, c->text_len);
  } else if (counts) {
    good++;
    add_sample(&latency, read_ns - c->began_ns);
    if (c->first_event_ns) add_sample(&first_event, c->first_event_ns - c->began_ns);
  }
  if (c->is_closing || (why == BAD_STATUS && !is_refused)) {
    reconnect(c);
  } else if (hold) {
    c->phase = PHASE_IDLE;
  } else {
    next_request(c);
  }
}

static void fail(struct conn *c, enum bad why) {
  if (hold) lost++;
  note_bad(why, c->is_in_body ? c->text : c->head, c->is_in_body ? c->text_len : c->head_len);
  reconnect(c);
}

// Takes head bytes until the blank line; -1 when this is no HTTP answer.
static ssize_t take_head(struct conn *c, const char *p, size_t n) {
  size_t before = c->head_len;
  size_t part = n < sizeof c->head - before ? n : sizeof c->head - before;
  memcpy(c->head + before, p, part);
  size_t from = before > 3 ? before - 3 : 0;
  char *end = memmem(c->head + from, before + part - from, "\r\n\r\n", 4);
  if (!end) {
    c->head_len = before + part;
    return c->head_len == sizeof c->head ? -1 : (ssize_t)part;
  }
  size_t head_len = (size_t)(end + 4 - c->head);
  if (head_len < 13 || memcmp(c->head, "HTTP/1.", 7) != 0) return -1;
  c->status = atoi(c->head + 9);
  if (c->status >= 200) {
    body_start(&c->body, c->head, head_len, false);
    c->is_closing = head_field_is(c->head, head_len, "connection", "close") || c->body.framing == FRAMING_UNTIL_CLOSE;
    c->is_in_body = true;
    c->head_len = head_len;
  } else {
    c->head_len = 0; // 1xx: the real head follows
  }
  return (ssize_t)(head_len - before);
}

static void on_readable(struct conn *c) {
  ssize_t n = recv(c->fd, read_buffer, sizeof read_buffer, 0);
  if (n < 0 && errno == EAGAIN) return;
  read_ns = now_ns();
  if (n <= 0) {
    if (c->phase == PHASE_BUSY && c->is_in_body && c->body.framing == FRAMING_UNTIL_CLOSE && n == 0) {
      finish(c);
    } else if (c->phase == PHASE_BUSY) {
      fail(c, BAD_BROKEN_OFF);
    } else {
      reconnect(c); // closing an idle connection is the other side's right
    }
    return;
  }
  if (c->phase != PHASE_BUSY) {
    // A 408 says that no request has come (RFC 9110, 15.5.9); any other bytes without a request are a fault.
    if (n >= 12 && memcmp(read_buffer, "HTTP/1.1 408", 12) == 0) reconnect(c);
    else fail(c, BAD_FRAMING);
    return;
  }
  size_t at = 0;
  while (at < (size_t)n) {
    ssize_t used = c->is_in_body ? body_read(&c->body, read_buffer + at, (size_t)n - at, take_answer, c)
                                 : take_head(c, read_buffer + at, (size_t)n - at);
    if (used < 0) {
      fail(c, BAD_FRAMING);
      return;
    }
    at += (size_t)used;
    if (c->is_in_body && c->body.done) {
      if (at < (size_t)n || c->sent < request_len) {
        fail(c, BAD_FRAMING);
        return;
      }
      finish(c);
      return;
    }
  }
}

static void on_socket(struct conn *c, uint32_t what) {
  if (c->phase == PHASE_CONNECTING) {
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
      note_bad(BAD_CONNECT, strerror(error), strlen(strerror(error)));
      reconnect(c);
      return;
    }
    if (!(what & EPOLLOUT)) return;
    watch(c, false);
    c->is_in_body = false;
    c->head_len = 0;
    next_request(c);
    return;
  }
  if ((what & EPOLLOUT) && c->phase == PHASE_BUSY) write_request(c);
  if (what & (EPOLLIN | EPOLLERR | EPOLLHUP)) on_readable(c);
}

// --- time --------------------------------------------------------------------------------------------------------

// Wakes for the next due request, for the window's ends, and every half millisecond while requests are ramped up.
static void arm_timer(int64_t now) {
  int64_t next = is_measuring ? end_ns : window_ns;
  if (hold && is_measuring) next = now + 3600LL * 1000000000;
  if (rate > 0 && idle_len && due_ns(due_index) < next) next = due_ns(due_index);
  if (ramp_ms && now < start_ns + (int64_t)ramp_ms * 1000000 + 2000000 && now + 500000 < next) next = now + 500000;
  if (next <= now) next = now + 1;
  struct itimerspec spec = {.it_value = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000}};
  timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void begin_ramped_requests(void) {
  for (int i = 0; i < connections; i++)
    if (conns[i].phase == PHASE_IDLE) next_request(&conns[i]);
}

static void open_window(int64_t now) {
  is_measuring = true;
  window_ns = now;
  end_ns = now + (int64_t)(seconds * 1e9);
  good = refused = events_seen = reconnects = 0;
  printf(hold ? "{\"event\":\"open\"}\n" : "{\"event\":\"measuring\"}\n");
  fflush(stdout);
  if (rate > 0)
    for (first_due = due_index; due_ns(first_due) < window_ns;) first_due++;
}

static void close_window(int64_t now) {
  uint64_t unfinished = 0;
  if (rate > 0) {
    // Requests in flight or still waiting count with their age so far: leaving them out would flatter a slow target.
    for (int i = 0; i < connections; i++) {
      if (conns[i].phase != PHASE_BUSY || conns[i].began_ns < window_ns) continue;
      unfinished++;
      add_sample(&latency, now - conns[i].began_ns);
    }
    for (uint64_t i = due_index > first_due ? due_index : first_due; due_ns(i) < now; i++) {
      unfinished++;
      add_sample(&latency, now - due_ns(i));
    }
  }
  print_result((double)(now - window_ns) / 1e9, unfinished);
}

// --- arguments ---------------------------------------------------------------------------------------------------

static const struct dialect *find_dialect(const char *name) {
  for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
    if (strcmp(dialects[i].name, name) == 0) return &dialects[i];
  fprintf(stderr, "unknown dialect %s\n", name);
  exit(2);
}

static void read_arguments(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--may-refuse") == 0) {
      may_refuse = 1;
      continue;
    }
    if (strcmp(name, "--every-latency") == 0) {
      every_latency = 1;
      continue;
    }
    if (strcmp(name, "--hold") == 0) {
      hold = 1;
      continue;
    }
    const char *value = i + 1 < argc ? argv[++i] : NULL;
    if (!value) {
      fprintf(stderr, "%s needs a value\n", name);
      exit(2);
    }
    if (strcmp(name, "--port") == 0) port = atoi(value);
    else if (strcmp(name, "--model") == 0) model = value;
    else if (strcmp(name, "--connections") == 0) connections = atoi(value);
    else if (strcmp(name, "--seconds") == 0) seconds = atof(value);
    else if (strcmp(name, "--lead-ms") == 0) lead_ms = atoi(value);
    else if (strcmp(name, "--ramp-ms") == 0) ramp_ms = atoi(value);
    else if (strcmp(name, "--rate") == 0) rate = atof(value);
    else if (strcmp(name, "--events") == 0) expected_events = atoi(value);
    else if (strcmp(name, "--dialect") == 0) dialect = find_dialect(value);
    else if (strcmp(name, "--body-bytes") == 0) body_bytes = strtoull(value, NULL, 10);
    else if (strcmp(name, "--authorization") == 0) authorization = value;
    else if (strcmp(name, "--path") == 0) path = value;
    else {
      fprintf(stderr, "unknown option %s\n", name);
      exit(2);
    }
  }
  if (!port || !model || connections < 1) {
    fprintf(stderr, "--port, --model and at least one connection are needed\n");
    exit(2);
  }
  if (dialect->moments && (!expected_events || hold)) {
    fprintf(stderr, "of %s only streams with --events can be judged\n", dialect->name);
    exit(2);
  }
  if (!path) path = dialect->path;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  read_arguments(argc, argv);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  build_request();

  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  static int stdin_tag;
  struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &timer_fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &ev);
  ev.data.ptr = &stdin_tag;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &ev);

  conns = calloc((size_t)connections, sizeof *conns);
  idle = calloc((size_t)connections, sizeof *idle);
  if (!conns || !idle) die("out of memory");
  start_ns = now_ns();
  window_ns = start_ns + (int64_t)(ramp_ms + lead_ms) * 1000000;
  for (int i = 0; i < connections; i++) start_connect(&conns[i]);

  struct epoll_event events[256];
  for (;;) {
    int64_t now = now_ns();
    if (rate > 0) begin_due_requests(now);
    if (ramp_ms && !is_measuring && rate <= 0) begin_ramped_requests();
    // Held streams are open when every request is written, however long that takes.
    if (!is_measuring && now >= window_ns && (!hold || written >= (uint64_t)connections)) open_window(now);
    if (is_measuring && !hold && (now >= end_ns || bad > BAD_MAX)) break;
    if (!is_measuring && bad > BAD_MAX) {
      open_window(now);
      break;
    }
    arm_timer(now);
    int n = epoll_wait(epoll_fd, events, 256, -1);
    for (int i = 0; i < n; i++) {
      void *tag = events[i].data.ptr;
      if (tag == &timer_fd) {
        uint64_t expirations;
        if (read(timer_fd, &expirations, sizeof expirations) < 0 && errno != EAGAIN) die("the timer broke");
      } else if (tag == &stdin_tag) {
        char bytes[64];
        if (read(0, bytes, sizeof bytes) > 0) continue;
        if (hold) close_window(now_ns());
        return 0;
      } else {
        on_socket(tag, events[i].events);
      }
    }
  }
  close_window(now_ns());
  // The last look at the proxy's CPU happens while its connections are still up.
  char bytes[64];
  while (!isatty(0) && read(0, bytes, sizeof bytes) > 0) {}
  return 0;
}
