// Is this JSON, and what is directly in it? One pass over the bytes accepts what JSON.parse accepts, and notes where the members or
// entries of the outermost object or list are. Strings are passed sixteen bytes at a time. Whether there are bytes above 0x7f is noted;
// whether they are UTF-8 is not looked at.
//
// json-scan.ts is its only caller. `node tools/build-json-scan.ts` makes json-scan-code.ts of it.

#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(name)))

typedef unsigned char byte;

enum {
  // The longest piece that is scanned at once. A longer text comes in several.
  block_bytes = 64 * 1024,
  // Of the piece before, so that the end of a string can be looked at.
  before_bytes = 16,
  // A list in a list in a list, each of which may be asked for.
  levels = 4,
  children_max = 1024,
  depth_max = 60,
  endings_max = 8,
  beginnings_max = 2,
};

enum state {
  VALUE,
  FIRST_ENTRY,
  FIRST_NAME,
  NAME,
  COLON,
  NEXT,
  STRING,
  ESCAPE,
  HEX,
  MINUS,
  ZERO,
  WHOLE,
  POINT,
  FRACTION,
  EXPONENT,
  POWER_SIGN,
  POWER,
  WORD,
  END,
};

// Offsets count from the start of the text. Of an entry of a list, `start` and `name_end` are those of its value.
struct child {
  int start;
  int name_end;
  int value_start;
  int value_end;
};

// As json-scan.ts reads it.
struct found {
  int children;
  // Of the closing brace or bracket.
  int closing;
  // Braces, brackets, commas and colons.
  int tokens;
  int has_above_ascii;
  // A string ends like one of the endings, or has an escape of a character below 0x100, which could hide one.
  int has_ending;
  // A value begins like one of the beginnings, as far as it is in the piece that it begins in.
  int has_beginning;
};

static byte room[before_bytes + block_bytes + 16];
static struct child children[levels][children_max];
static struct found found;
// The last four bytes of a string, the last one in the highest place, and which of them matter.
static struct {
  unsigned mask;
  unsigned bytes;
} endings[endings_max];

// With what a value that is a string begins: the first and the last eight bytes of that.
static struct {
  unsigned long long head;
  unsigned long long tail;
  int tail_at;
} beginnings[beginnings_max];

static enum state state;
static int base;
static int depth;
// A bit for each depth: an object, or else a list.
static unsigned long long objects;
static int is_name;
static int hex_left;
static int is_low_escape;
static const char *word;
static struct child *level;

EXPORT("room") byte *room_at(void) { return room + before_bytes; }
EXPORT("children") struct child *children_at(void) { return children[0]; }
EXPORT("found") struct found *found_at(void) { return &found; }
EXPORT("endings") void *endings_at(void) { return endings; }
EXPORT("beginnings") void *beginnings_at(void) { return beginnings; }

// A text begins at `from`, which must be an object or a list, or blanks before one. Its children go to one of the levels.
EXPORT("begin") void begin(int from, int to_level) {
  state = VALUE;
  base = from;
  depth = 0;
  objects = 0;
  level = children[to_level];
  found = (struct found){.closing = -1};
}

static int is_in_object(void) { return (objects >> depth) & 1; }

static int enter(int is_object) {
  if (++depth > depth_max) return 0;
  objects = (objects & ~(1ull << depth)) | ((unsigned long long)is_object << depth);
  found.tokens++;
  return 1;
}

static int ends_alike(const byte *quote) {
  unsigned last = 0;
  __builtin_memcpy(&last, quote - 4, sizeof last);
  for (int at = 0; at < endings_max; at++)
    if ((last & endings[at].mask) == endings[at].bytes && endings[at].mask != 0) return 1;
  return 0;
}

static unsigned long long eight_at(const byte *at) {
  unsigned long long bytes;
  __builtin_memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

static void note_beginning(const byte *first, const byte *end) {
  long left = end - first;
  unsigned long long within = left >= 8 ? ~0ull : (1ull << (8 * left)) - 1;
  unsigned long long head = eight_at(first);
  for (int at = 0; at < beginnings_max; at++) {
    if (((head ^ beginnings[at].head) & within) != 0) continue;
    int tail_at = beginnings[at].tail_at;
    if (left < tail_at + 8 || eight_at(first + tail_at) == beginnings[at].tail) found.has_beginning = 1;
  }
}

static const byte is_escape[256] = {
  ['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1, ['f'] = 1, ['n'] = 1, ['r'] = 1, ['t'] = 1,
};

static inline v128_t stops_of(v128_t bytes) {
  return wasm_v128_or(
    wasm_v128_or(wasm_i8x16_eq(bytes, wasm_i8x16_splat('"')), wasm_i8x16_eq(bytes, wasm_i8x16_splat('\\'))),
    wasm_u8x16_lt(bytes, wasm_i8x16_splat(' ')));
}

// Over every 64 bytes in which there is no stop.
static inline const byte *pass_long(const byte *at, const byte *end) {
  v128_t above = wasm_i8x16_splat(0);
  while (end - at >= 64) {
    v128_t a = wasm_v128_load(at), b = wasm_v128_load(at + 16), c = wasm_v128_load(at + 32), d = wasm_v128_load(at + 48);
    v128_t stops = wasm_v128_or(wasm_v128_or(stops_of(a), stops_of(b)), wasm_v128_or(stops_of(c), stops_of(d)));
    if (wasm_v128_any_true(stops)) break;
    above = wasm_v128_or(above, wasm_v128_or(wasm_v128_or(a, b), wasm_v128_or(c, d)));
    at += 64;
  }
  if (wasm_i8x16_bitmask(above) != 0) found.has_above_ascii = 1;
  return at;
}

// To the quote that ends a string, or anything else that is no text: a control character, an escape by number, one at the end of sixteen
// bytes. Behind the room there are bytes enough to read sixteen at its end.
static inline const byte *pass_text(const byte *at, const byte *end) {
  for (int since = 0; at < end; at += 16, since++) {
    // Most text has no stop for long.
    if ((since & 3) == 0) at = pass_long(at, end);
    unsigned within = end - at < 16 ? (1u << (end - at)) - 1 : 0xffff;
    v128_t bytes = wasm_v128_load(at);
    unsigned above = wasm_i8x16_bitmask(bytes) & within;
    unsigned stops = wasm_i8x16_bitmask(stops_of(bytes)) & within;
    while (stops != 0) {
      int stop = __builtin_ctz(stops);
      if (at[stop] == '\\' && stop < 15 && at + stop + 1 < end && is_escape[at[stop + 1]]) {
        stops &= ~(3u << stop);
        continue;
      }
      if ((above & ((1u << stop) - 1)) != 0) found.has_above_ascii = 1;
      return at + stop;
    }
    if (above != 0) found.has_above_ascii = 1;
  }
  return end;
}

static int is_digit(byte code) { return code >= '0' && code <= '9'; }

// Goes on over the next bytes of the text, which are in the room from `from` on. 0: it is no JSON, or nests too deep, or has too many
// children.
EXPORT("next") int next(int from, int length) {
  const byte *text = room + before_bytes + from;
  const byte *end = text + length;
  const byte *at = text;
  enum state now = state;
  while (at < end) {
    byte code = *at;
    switch (now) {
      case STRING:
        at = pass_text(at, end);
        if (at == end) continue;
        code = *at;
        if (code == '\\') {
          now = ESCAPE;
          break;
        }
        if (code != '"') return 0;
        if (ends_alike(at)) found.has_ending = 1;
        if (is_name) {
          if (depth == 1) level[found.children - 1].name_end = base + (int)(at + 1 - text);
          now = COLON;
          break;
        }
        if (depth == 1) level[found.children - 1].value_end = base + (int)(at + 1 - text);
        now = NEXT;
        break;

      case ESCAPE:
        if (code == 'u') {
          hex_left = 4;
          is_low_escape = 1;
          now = HEX;
          break;
        }
        if (!is_escape[code]) return 0;
        now = STRING;
        break;

      case HEX:
        if (!is_digit(code) && !((code | 0x20) >= 'a' && (code | 0x20) <= 'f')) return 0;
        if (hex_left > 2 && code != '0') is_low_escape = 0;
        if (--hex_left > 0) break;
        if (is_low_escape) found.has_ending = 1;
        now = STRING;
        break;

      case FIRST_NAME:
      case NAME:
        if (code == ' ' || code == '\n' || code == '\r' || code == '\t') break;
        if (code == '}' && now == FIRST_NAME) goto leave;
        if (code != '"') return 0;
        if (depth == 1) {
          if (found.children == children_max) return 0;
          level[found.children++].start = base + (int)(at - text);
        }
        is_name = 1;
        now = STRING;
        break;

      case COLON:
        if (code == ' ' || code == '\n' || code == '\r' || code == '\t') break;
        if (code != ':') return 0;
        found.tokens++;
        now = VALUE;
        break;

      case FIRST_ENTRY:
      case VALUE:
        if (code == ' ' || code == '\n' || code == '\r' || code == '\t') break;
        if (code == ']' && now == FIRST_ENTRY) goto leave;
        if (depth == 1) {
          int place = base + (int)(at - text);
          if (!is_in_object()) {
            if (found.children == children_max) return 0;
            level[found.children].start = place;
            level[found.children++].name_end = place;
          }
          level[found.children - 1].value_start = place;
        }
        is_name = 0;
        if (code == '{') {
          if (!enter(1)) return 0;
          now = FIRST_NAME;
        } else if (code == '[') {
          if (!enter(0)) return 0;
          now = FIRST_ENTRY;
        } else if (depth == 0) {
          return 0;
        } else if (code == '"') {
          note_beginning(at + 1, end);
          now = STRING;
        } else if (code == '-') {
          now = MINUS;
        } else if (code == '0') {
          now = ZERO;
        } else if (is_digit(code)) {
          now = WHOLE;
        } else {
          word = code == 't' ? "rue" : code == 'f' ? "alse" : code == 'n' ? "ull" : 0;
          if (word == 0) return 0;
          now = WORD;
        }
        break;

      case WORD:
        if (code != (byte)*word) return 0;
        if (*++word != 0) break;
        if (depth == 1) level[found.children - 1].value_end = base + (int)(at + 1 - text);
        now = NEXT;
        break;

      case MINUS:
        if (!is_digit(code)) return 0;
        now = code == '0' ? ZERO : WHOLE;
        break;

      case POINT:
      case EXPONENT:
      case POWER_SIGN:
        if (now == EXPONENT && (code == '+' || code == '-')) {
          now = POWER_SIGN;
          break;
        }
        if (!is_digit(code)) return 0;
        now = now == POINT ? FRACTION : POWER;
        break;

      case ZERO:
      case WHOLE:
      case FRACTION:
      case POWER:
        if (is_digit(code) && now != ZERO) break;
        if (code == '.' && (now == ZERO || now == WHOLE)) {
          now = POINT;
          break;
        }
        if ((code == 'e' || code == 'E') && now != POWER) {
          now = EXPONENT;
          break;
        }
        if (depth == 1) level[found.children - 1].value_end = base + (int)(at - text);
        now = NEXT;
        // The byte is not part of the number.
        continue;

      case NEXT:
        if (code == ' ' || code == '\n' || code == '\r' || code == '\t') break;
        if (code == ',') {
          found.tokens++;
          now = is_in_object() ? NAME : VALUE;
          break;
        }
        if (code != (is_in_object() ? '}' : ']')) return 0;
      leave:
        found.tokens++;
        depth--;
        if (depth == 1) level[found.children - 1].value_end = base + (int)(at + 1 - text);
        if (depth == 0) found.closing = base + (int)(at - text);
        now = depth == 0 ? END : NEXT;
        break;

      case END:
        if (code != ' ' && code != '\n' && code != '\r' && code != '\t') return 0;
        break;
    }
    at++;
  }
  state = now;
  base += length;
  wasm_v128_store(room, wasm_v128_load(end - before_bytes));
  return 1;
}
