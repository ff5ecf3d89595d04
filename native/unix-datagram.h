#pragma once
#include <node_api.h>

napi_value send_unix_datagram(napi_env env, napi_callback_info info);
