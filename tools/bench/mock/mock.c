// An upstream that costs next to nothing: OpenAI-shaped chat completions from one epoll thread.
//
//   mock [PORT]        prints "listening PORT" and serves 127.0.0.1 until its standard input closes; port 0 takes a free one
//
// The model name in the request body says which answer to give, because it is all that a gateway carries through:
//   unary              one JSON answer of 1053 bytes; usage.prompt_tokens tells how many body bytes arrived
//   burst-20           20 events of 285 bytes, one send() each, then a usage event and [DONE]
//   paced-100x10       100 such events, one every 10 ms
//   wait               no byte at all, for as long as the caller waits
// Every answer and every event carries its send time (CLOCK_MONOTONIC, ns) as @0000000000000000000@ in its content.
// GET /bench/stats answers {"openStreams","requests","refused"}.
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

#define UNARY_BODY_BYTES 1053
#define EVENT_BYTES 285
#define MODEL_WINDOW_BYTES 1024
#define READ_BYTES (256 * 1024)

enum kind { KIND_UNARY, KIND_BURST, KIND_PACED, KIND_WAIT, KIND_UNKNOWN };

struct conn {
  int fd;
  bool is_reading_body, is_answering, wants_out;
  char head[HEAD_BYTES_MAX];
  size_t head_len;
  struct body body;
  uint64_t body_bytes;
  char body_first, body_last;
  char window[MODEL_WINDOW_BYTES]; // the first bytes of the body, where the model name stands
  size_t window_len;
  char *out; // what the socket did not take yet
  size_t out_len, out_cap;
  int events_total, events_sent, gap_ms;
  int64_t due_ns;
  int heap_at; // place among the waiting streams, -1 for none
  struct conn *next_closed;
};

// A template with the send time (and the body size, in the unary answer) at fixed places.
struct template {
  char bytes[2048];
  size_t len, stamp_at, prompt_at, total_at;
};

static int epoll_fd, timer_fd;
static char read_buffer[READ_BYTES];
static struct template unary, event_first, event_middle, event_last;
static struct conn **heap;
static int heap_len, heap_cap;
static struct conn *closed_conns;
static int64_t armed_ns; // what the timer is set to
static uint64_t open_streams, requests, refused;

static const char STREAM_HEAD[] =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
static const char FILLER[] =
  "The gate opens, water falls through the pipe, and the wheel below turns it into light for the whole valley; "
  "when the gate closes the lake waits, and nobody upstream needs to know who is asking for light, or how much. "
  "A second pipe runs beside the first, for the day on which the first one breaks. ";

// --- templates -------------------------------------------------------------------------------------------------

static void fill(char *to, size_t len) {
  for (size_t i = 0; i < len; i++) to[i] = FILLER[i % (sizeof FILLER - 1)];
}

static size_t offset_of(const struct template *t, const char *what) {
  return (size_t)(strstr(t->bytes, what) - t->bytes) + strlen(what);
}

static void build_event(struct template *t, const char *role, const char *finish) {
  static const char before[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\","
    "\"choices\":[{\"index\":0,\"delta\":{";
  char filler[EVENT_BYTES];
  char tail[160];
  snprintf(tail, sizeof tail, "\"},\"logprobs\":null,\"finish_reason\":%s}],\"usage\":null}\n\n", finish);
  char start[320];
  snprintf(start, sizeof start, "%s%s\"content\":\"@0000000000000000000@ ", before, role);
  size_t pad = EVENT_BYTES - strlen(start) - strlen(tail);
  fill(filler, pad);
  t->len = (size_t)snprintf(t->bytes, sizeof t->bytes, "%x\r\n%s%.*s%s\r\n", EVENT_BYTES, start, (int)pad, filler, tail);
  t->stamp_at = offset_of(t, "\"content\":\"@");
}

static void build_unary(void) {
  static const char before[] =
    "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench-upstream\",\"choices\":[{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"@0000000000000000000@ ";
  static const char after[] =
    "\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":         0,\"completion_tokens\":128,"
    "\"total_tokens\":         0,\"prompt_tokens_details\":{\"cached_tokens\":0},\"completion_tokens_details\":{\"reasoning_tokens\":0}},"
    "\"service_tier\":\"default\"}";
  char filler[UNARY_BODY_BYTES];
  size_t pad = UNARY_BODY_BYTES - strlen(before) - strlen(after);
  fill(filler, pad);
  unary.len = (size_t)snprintf(unary.bytes, sizeof unary.bytes,
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s%.*s%s", UNARY_BODY_BYTES, before, (int)pad,
    filler, after);
  unary.stamp_at = offset_of(&unary, "\"content\":\"@");
  unary.prompt_at = offset_of(&unary, "\"prompt_tokens\":");
  unary.total_at = offset_of(&unary, "\"total_tokens\":");
}

static void put_number(char *to, int width, uint64_t value, char pad) {
  for (int i = width - 1; i >= 0; i--) {
    to[i] = value || i == width - 1 ? (char)('0' + value % 10) : pad;
    value /= 10;
  }
}

// --- streams that wait for their next event: a binary heap by due time, one timerfd ------------------------------

static void heap_put(int at, struct conn *c) {
  heap[at] = c;
  c->heap_at = at;
}

static void heap_up(int at) {
  struct conn *c = heap[at];
  while (at > 0 && heap[(at - 1) / 2]->due_ns > c->due_ns) {
    heap_put(at, heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  heap_put(at, c);
}

static void heap_down(int at) {
  struct conn *c = heap[at];
  for (;;) {
    int child = 2 * at + 1;
    if (child >= heap_len) break;
    if (child + 1 < heap_len && heap[child + 1]->due_ns < heap[child]->due_ns) child++;
    if (heap[child]->due_ns >= c->due_ns) break;
    heap_put(at, heap[child]);
    at = child;
  }
  heap_put(at, c);
}

static void heap_add(struct conn *c) {
  if (heap_len == heap_cap) {
    heap_cap = heap_cap ? heap_cap * 2 : 256;
    heap = must_realloc(heap, (size_t)heap_cap * sizeof *heap);
  }
  heap_put(heap_len++, c);
  heap_up(c->heap_at);
}

static void heap_remove(struct conn *c) {
  int at = c->heap_at;
  if (at < 0) return;
  c->heap_at = -1;
  struct conn *moved = heap[--heap_len];
  if (moved == c) return;
  heap_put(at, moved);
  heap_up(at);
  heap_down(moved->heap_at);
}

static void arm_timer(void) {
  int64_t due = heap_len ? heap[0]->due_ns : 0;
  if (due == armed_ns) return;
  armed_ns = due;
  struct itimerspec spec = {.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};
  timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

// --- writing -----------------------------------------------------------------------------------------------------

static void watch(struct conn *c, bool out) {
  if (c->wants_out == out) return;
  c->wants_out = out;
  struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | (out ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

static void write_bytes(struct conn *c, const char *p, size_t n) {
  if (c->fd < 0) return;
  if (!c->out_len) {
    ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return; // the close follows as an event of its own
    if (sent < 0) sent = 0;
    p += sent;
    n -= (size_t)sent;
  }
  if (!n) return;
  if (c->out_len + n > c->out_cap) {
    c->out_cap = (c->out_len + n) * 2;
    c->out = must_realloc(c->out, c->out_cap);
  }
  memcpy(c->out + c->out_len, p, n);
  c->out_len += n;
  watch(c, true);
}

static void flush_out(struct conn *c) {
  ssize_t sent = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
  if (sent <= 0) return;
  c->out_len -= (size_t)sent;
  memmove(c->out, c->out + sent, c->out_len);
  if (!c->out_len) watch(c, false);
}

static void write_event(struct conn *c) {
  int i = c->events_sent++;
  struct template *t = i + 1 == c->events_total ? &event_last : i == 0 ? &event_first : &event_middle;
  put_number(t->bytes + t->stamp_at, 19, (uint64_t)now_ns(), '0');
  write_bytes(c, t->bytes, t->len);
}

static void write_stream_end(struct conn *c) {
  char events[512], framed[640];
  int len = snprintf(events, sizeof events,
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-upstream\",\"choices\":[],"
    "\"usage\":{\"prompt_tokens\":%llu,\"completion_tokens\":%d,\"total_tokens\":%llu}}\n\ndata: [DONE]\n\n",
    (unsigned long long)c->body_bytes, c->events_total, (unsigned long long)c->body_bytes + (unsigned)c->events_total);
  int framed_len = snprintf(framed, sizeof framed, "%x\r\n%s\r\n0\r\n\r\n", len, events);
  write_bytes(c, framed, (size_t)framed_len);
  c->is_answering = false;
  open_streams--;
}

static void write_json(struct conn *c, const char *status, const char *json) {
  char out[1024];
  int len = snprintf(out, sizeof out, "HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s", status,
    strlen(json), json);
  write_bytes(c, out, (size_t)len);
}

static void refuse(struct conn *c, const char *status, const char *message) {
  char json[512];
  refused++;
  snprintf(json, sizeof json, "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\",\"code\":\"bench\"}}", message);
  write_json(c, status, json);
}

// --- answering ---------------------------------------------------------------------------------------------------

// Reads the model name from the start of the body; the body itself is never parsed.
static enum kind read_kind(struct conn *c) {
  char name[64] = "";
  char *p = memmem(c->window, c->window_len, "\"model\"", 7);
  if (!p) return KIND_UNKNOWN;
  p += 7;
  char *end = c->window + c->window_len;
  while (p < end && (*p == ' ' || *p == ':' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  if (p == end || *p++ != '"') return KIND_UNKNOWN;
  for (size_t i = 0; p < end && *p != '"' && i + 1 < sizeof name; i++) name[i] = *p++;
  c->gap_ms = 0;
  char rest;
  if (strcmp(name, "unary") == 0) return KIND_UNARY;
  if (strcmp(name, "wait") == 0) return KIND_WAIT;
  if (sscanf(name, "burst-%d%c", &c->events_total, &rest) == 1 && c->events_total > 0) return KIND_BURST;
  if (sscanf(name, "paced-%dx%d%c", &c->events_total, &c->gap_ms, &rest) == 2 && c->events_total > 0 && c->gap_ms > 0)
    return KIND_PACED;
  return KIND_UNKNOWN;
}

static void answer_completion(struct conn *c) {
  // A body that lost its end on the way would otherwise look like a fast one.
  if (c->body_first != '{' || c->body_last != '}') {
    refuse(c, "400 Bad Request", "the body is not a JSON object");
    return;
  }
  c->events_sent = 0;
  switch (read_kind(c)) {
    case KIND_UNARY:
      put_number(unary.bytes + unary.stamp_at, 19, (uint64_t)now_ns(), '0');
      put_number(unary.bytes + unary.prompt_at, 10, c->body_bytes, ' ');
      put_number(unary.bytes + unary.total_at, 10, c->body_bytes + 128, ' ');
      write_bytes(c, unary.bytes, unary.len);
      return;
    case KIND_BURST:
      open_streams++;
      write_bytes(c, STREAM_HEAD, sizeof STREAM_HEAD - 1);
      while (c->events_sent < c->events_total) write_event(c);
      write_stream_end(c);
      return;
    case KIND_PACED:
      open_streams++;
      c->is_answering = true;
      write_bytes(c, STREAM_HEAD, sizeof STREAM_HEAD - 1);
      c->due_ns = now_ns() + (int64_t)c->gap_ms * 1000000;
      heap_add(c);
      return;
    case KIND_WAIT:
      open_streams++;
      c->is_answering = true;
      return;
    case KIND_UNKNOWN:
      refuse(c, "404 Not Found", "the model must be unary, burst-N, paced-NxMS or wait, within the first bytes of the body");
      return;
  }
}

static void answer(struct conn *c) {
  char *path = memchr(c->head, ' ', c->head_len);
  char *path_end = path ? memchr(path + 1, ' ', c->head_len - (size_t)(path + 1 - c->head)) : NULL;
  requests++;
  c->head_len = 0;
  static const char chat[] = "/chat/completions";
  if (path_end && strncmp(c->head, "GET /bench/stats ", 17) == 0) {
    char json[160];
    snprintf(json, sizeof json, "{\"openStreams\":%llu,\"requests\":%llu,\"refused\":%llu}", (unsigned long long)open_streams,
      (unsigned long long)requests, (unsigned long long)refused);
    write_json(c, "200 OK", json);
  } else if (path_end && strncmp(c->head, "POST ", 5) == 0 && (size_t)(path_end - path) > sizeof chat - 1 &&
             memcmp(path_end - (sizeof chat - 1), chat, sizeof chat - 1) == 0) {
    answer_completion(c);
  } else {
    refuse(c, "404 Not Found", "this mock serves POST /v1/chat/completions and GET /bench/stats");
  }
}

// --- reading -----------------------------------------------------------------------------------------------------

static void close_conn(struct conn *c) {
  if (c->fd < 0) return;
  if (c->is_answering) open_streams--;
  heap_remove(c);
  close(c->fd);
  c->fd = -1;
  // Freed after this round of events: a later event of the same round may still point here.
  c->next_closed = closed_conns;
  closed_conns = c;
}

static void take_body(void *owner, const char *p, size_t n) {
  struct conn *c = owner;
  if (!c->body_bytes) c->body_first = p[0];
  c->body_last = p[n - 1];
  c->body_bytes += n;
  size_t part = sizeof c->window - c->window_len < n ? sizeof c->window - c->window_len : n;
  memcpy(c->window + c->window_len, p, part);
  c->window_len += part;
}

// Takes head bytes until the blank line; returns how many of p it used, or -1 when the head is too long.
static ssize_t take_head(struct conn *c, const char *p, size_t n) {
  size_t before = c->head_len;
  size_t room = sizeof c->head - before;
  size_t part = n < room ? n : room;
  memcpy(c->head + before, p, part);
  size_t from = before > 3 ? before - 3 : 0;
  char *end = memmem(c->head + from, before + part - from, "\r\n\r\n", 4);
  if (!end) {
    c->head_len = before + part;
    return c->head_len == sizeof c->head ? -1 : (ssize_t)part;
  }
  c->head_len = (size_t)(end + 4 - c->head);
  body_start(&c->body, c->head, c->head_len, true);
  c->body_bytes = 0;
  c->window_len = 0;
  c->body_first = c->body_last = 0;
  c->is_reading_body = true;
  if (!c->body.done && head_field_is(c->head, c->head_len, "expect", "100-continue"))
    write_bytes(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
  return (ssize_t)(c->head_len - before);
}

static void on_readable(struct conn *c) {
  ssize_t n = recv(c->fd, read_buffer, sizeof read_buffer, 0);
  if (n < 0 && errno == EAGAIN) return;
  // No proxy in the comparison pipelines; a second request before the answer ended is a broken one.
  if (n <= 0 || c->is_answering) {
    close_conn(c);
    return;
  }
  size_t at = 0;
  while (c->fd >= 0 && (at < (size_t)n || (c->is_reading_body && c->body.done))) {
    if (c->is_reading_body && c->body.done) {
      c->is_reading_body = false;
      answer(c);
      continue;
    }
    ssize_t used = c->is_reading_body ? body_read(&c->body, read_buffer + at, (size_t)n - at, take_body, c)
                                      : take_head(c, read_buffer + at, (size_t)n - at);
    if (used < 0) {
      close_conn(c);
      return;
    }
    at += (size_t)used;
  }
}

static void on_timer(void) {
  uint64_t expirations;
  if (read(timer_fd, &expirations, sizeof expirations) < 0) return;
  armed_ns = 0;
  int64_t now = now_ns();
  while (heap_len && heap[0]->due_ns <= now) {
    struct conn *c = heap[0];
    heap_remove(c);
    write_event(c);
    if (c->events_sent == c->events_total) {
      write_stream_end(c);
    } else {
      c->due_ns += (int64_t)c->gap_ms * 1000000;
      heap_add(c);
    }
  }
}

static void on_connection(int listen_fd) {
  for (;;) {
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct conn *c = calloc(1, sizeof *c);
    if (!c) die("out of memory");
    c->fd = fd;
    c->heap_at = -1;
    struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
  }
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  build_unary();
  build_event(&event_first, "\"role\":\"assistant\",", "null");
  build_event(&event_middle, "", "null");
  build_event(&event_last, "", "\"stop\"");

  int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int one = 1;
  setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  at.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
  socklen_t at_len = sizeof at;
  if (bind(listen_fd, (struct sockaddr *)&at, sizeof at) < 0) die("the mock cannot bind its port");
  if (listen(listen_fd, 4096) < 0) die("the mock cannot listen");
  getsockname(listen_fd, (struct sockaddr *)&at, &at_len);

  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &listen_fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev);
  ev.data.ptr = &timer_fd;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &ev);
  static int stdin_tag;
  ev.data.ptr = &stdin_tag;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &ev); // refused for /dev/null: then only a signal ends the mock

  printf("listening %d\n", ntohs(at.sin_port));
  fflush(stdout);

  struct epoll_event events[256];
  for (;;) {
    arm_timer();
    int n = epoll_wait(epoll_fd, events, 256, -1);
    for (int i = 0; i < n; i++) {
      void *tag = events[i].data.ptr;
      if (tag == &listen_fd) {
        on_connection(listen_fd);
      } else if (tag == &timer_fd) {
        on_timer();
      } else if (tag == &stdin_tag) {
        char byte[64];
        if (read(0, byte, sizeof byte) <= 0) return 0;
      } else {
        struct conn *c = tag;
        if (c->fd < 0) continue;
        if (events[i].events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
          close_conn(c);
          continue;
        }
        if (events[i].events & EPOLLOUT) flush_out(c);
        if (events[i].events & EPOLLIN) on_readable(c);
      }
    }
    while (closed_conns) {
      struct conn *c = closed_conns;
      closed_conns = c->next_closed;
      free(c->out);
      free(c);
    }
  }
}
