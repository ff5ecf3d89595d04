#pragma once
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>

// Reads the number that a function is called with, or throws a TypeError that says `wanted`.
static inline bool read_number(napi_env env, napi_callback_info info, const char *wanted, int32_t *number) {
  size_t count = 1;
  napi_value argument;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) == napi_ok && count >= 1 &&
      napi_get_value_int32(env, argument, number) == napi_ok)
    return true;
  napi_throw_type_error(env, NULL, wanted);
  return false;
}
