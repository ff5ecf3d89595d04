// The content of a JSON string for UTF-8 text (RFC 8259, section 7). JSON escapes only ASCII, so the text is not decoded.
// JSON.stringify needs a string, returns one, and takes several times as long.
#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_plain(uint8_t byte) { return byte >= 0x20 && byte != '"' && byte != '\\'; }

// In each byte of the result the highest bit is set if that byte of `word`, or a lower one, is below `limit` (at most 0x80).
static uint64_t below(uint64_t word, uint64_t limit) {
  const uint64_t each = 0x0101010101010101;
  return (word - each * limit) & ~word & (each << 7);
}

static bool are_plain(const uint8_t text[8]) {
  uint64_t word;
  memcpy(&word, text, sizeof word);
  const uint64_t each = 0x0101010101010101;
  return (below(word, 0x20) | below(word ^ each * '"', 1) | below(word ^ each * '\\', 1)) == 0;
}

// The number of bytes at the beginning that need no escape sequence.
static size_t plain_bytes(const uint8_t *text, const uint8_t *end) {
  const uint8_t *at = text;
  while (end - at >= 8 && are_plain(at)) at += 8;
  while (at < end && is_plain(*at)) at++;
  return (size_t)(at - text);
}

// Writes the escape sequence of a byte. Returns its length.
static size_t escape(uint8_t byte, char *to) {
  static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
  static const char digits[] = "0123456789abcdef";
  to[0] = '\\';
  if (letters[byte] != 0) {
    to[1] = letters[byte];
    return 2;
  }
  memcpy(to + 1, "u00", 3);
  to[4] = digits[byte >> 4];
  to[5] = digits[byte & 0xf];
  return 6;
}

// Writes the text, unless `to` is NULL. Returns its length.
static size_t escape_text(const uint8_t *text, size_t length, char *to) {
  const uint8_t *end = text + length;
  size_t written = 0;
  char sequence[6];
  while (text < end) {
    const size_t plain = plain_bytes(text, end);
    if (to != NULL) memcpy(to + written, text, plain);
    written += plain;
    text += plain;
    if (text < end) written += escape(*text++, to == NULL ? sequence : to + written);
  }
  return written;
}

// Takes a Uint8Array and returns a Buffer.
napi_value escape_json(napi_env env, napi_callback_info info) {
  size_t argc = 1, length;
  napi_value argument, result;
  napi_typedarray_type type;
  void *text, *escaped;
  if (napi_get_cb_info(env, info, &argc, &argument, NULL, NULL) != napi_ok || argc < 1 ||
      napi_get_typedarray_info(env, argument, &type, &length, &text, NULL, NULL) != napi_ok ||
      type != napi_uint8_array) {
    napi_throw_type_error(env, NULL, "escapeJson wants a Uint8Array");
    return NULL;
  }
  if (napi_create_buffer(env, escape_text(text, length, NULL), &escaped, &result) != napi_ok) return NULL;
  escape_text(text, length, escaped);
  return result;
}
