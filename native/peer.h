#pragma once
#include <node_api.h>

// (fd) => the id of the user whose process listens at the other end of a connected unix socket, or the negative error number.
napi_value peer_user(napi_env env, napi_callback_info info);
