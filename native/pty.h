#pragma once
#include <node_api.h>
#include <stdbool.h>

#ifdef __linux__
// Whether the system reports the end of a process by a descriptor (Linux 5.3, where no seccomp filter forbids it).
bool has_pidfd(void);
// (path, args, env, cwd, cols, rows, onExit) => { fd, pid }, or the negative error number.
napi_value spawn_in_pty(napi_env env, napi_callback_info info);
#endif
// The same without what Linux alone has.
napi_value fork_in_pty(napi_env env, napi_callback_info info);
// (fd, cols, rows) => 0 or the negative error number.
napi_value resize_pty(napi_env env, napi_callback_info info);
