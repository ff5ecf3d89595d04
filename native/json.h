#pragma once
#include <node_api.h>

napi_value escape_json(napi_env env, napi_callback_info info);
