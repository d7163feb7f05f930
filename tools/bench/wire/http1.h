// What do the mock and the client both know about HTTP/1.1? Head fields, and bodies by length or in chunks (RFC 9112).
#ifndef BENCH_HTTP1_H
#define BENCH_HTTP1_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include <time.h>

#define HEAD_BYTES_MAX 16384

static inline int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static inline void *must_realloc(void *old, size_t bytes) {
  void *p = realloc(old, bytes);
  if (!p) die("out of memory");
  return p;
}

// The value of a head field, without the spaces around it; NULL where the head has no such field.
static inline const char *head_field(const char *head, size_t head_len, const char *name, size_t *value_len) {
  size_t name_len = strlen(name);
  const char *end = head + head_len;
  const char *line = memchr(head, '\n', head_len);
  while (line && ++line < end) {
    const char *next = memchr(line, '\n', (size_t)(end - line));
    const char *stop = next ? next : end;
    if ((size_t)(stop - line) > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
      const char *value = line + name_len + 1;
      while (value < stop && (*value == ' ' || *value == '\t')) value++;
      while (stop > value && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t')) stop--;
      *value_len = (size_t)(stop - value);
      return value;
    }
    line = next;
  }
  return NULL;
}

static inline bool head_field_is(const char *head, size_t head_len, const char *name, const char *wanted) {
  size_t len;
  const char *value = head_field(head, head_len, name, &len);
  return value && len == strlen(wanted) && strncasecmp(value, wanted, len) == 0;
}

enum framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_UNTIL_CLOSE };
enum chunk_step { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER };

struct body {
  enum framing framing;
  enum chunk_step step;
  uint64_t left;       // bytes left of the body, or of the current chunk
  unsigned digits;     // hex digits seen of the current chunk size
  unsigned line_bytes; // bytes seen of the current trailer line
  bool done;
};

// Without a length and without chunks a request has no body, and a response lasts until the connection closes.
static inline void body_start(struct body *b, const char *head, size_t head_len, bool is_request) {
  memset(b, 0, sizeof *b);
  size_t len;
  const char *value;
  if (head_field_is(head, head_len, "transfer-encoding", "chunked")) {
    b->framing = FRAMING_CHUNKED;
  } else if ((value = head_field(head, head_len, "content-length", &len))) {
    b->framing = FRAMING_LENGTH;
    b->left = strtoull(value, NULL, 10);
    b->done = b->left == 0;
  } else {
    b->framing = is_request ? FRAMING_LENGTH : FRAMING_UNTIL_CLOSE;
    b->done = is_request;
  }
}

typedef void (*take_fn)(void *owner, const char *bytes, size_t len);

// Hands the payload in p[0..n) to `take` and returns how many bytes belonged to this body, or -1 for broken chunks.
static inline ssize_t body_read(struct body *b, const char *p, size_t n, take_fn take, void *owner) {
  size_t at = 0;
  if (b->framing != FRAMING_CHUNKED) {
    size_t part = b->framing == FRAMING_LENGTH && n > b->left ? (size_t)b->left : n;
    if (part) take(owner, p, part);
    if (b->framing == FRAMING_LENGTH) {
      b->left -= part;
      b->done = b->left == 0;
    }
    return (ssize_t)part;
  }
  while (at < n && !b->done) {
    char c = p[at];
    switch (b->step) {
      case CHUNK_SIZE: {
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit >= 0) {
          if (++b->digits > 12) return -1;
          b->left = b->left * 16 + (uint64_t)digit;
          at++;
        } else {
          if (b->digits == 0) return -1;
          b->step = CHUNK_EXTENSION;
        }
        break;
      }
      case CHUNK_EXTENSION:
        at++;
        if (c == '\n') {
          b->digits = 0;
          b->line_bytes = 0;
          b->step = b->left ? CHUNK_DATA : CHUNK_TRAILER;
        }
        break;
      case CHUNK_DATA: {
        size_t part = n - at > b->left ? (size_t)b->left : n - at;
        take(owner, p + at, part);
        at += part;
        b->left -= part;
        if (!b->left) b->step = CHUNK_DATA_END;
        break;
      }
      case CHUNK_DATA_END:
        if (c != '\r' && c != '\n') return -1;
        at++;
        if (c == '\n') b->step = CHUNK_SIZE;
        break;
      case CHUNK_TRAILER:
        at++;
        if (c == '\n') {
          if (b->line_bytes == 0) b->done = true;
          b->line_bytes = 0;
        } else if (c != '\r') {
          b->line_bytes++;
        }
        break;
    }
  }
  return (ssize_t)at;
}

#endif
