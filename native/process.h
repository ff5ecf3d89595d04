#pragma once
#include <node_api.h>

// macOS only.
// (pid) => what is known of that process, or of all for 0: for each process its pid, process group, terminal session, the process
// group in the foreground of its terminal, its start in microseconds since 1970, and 1 where it is a zombie, else 0.
napi_value read_processes(napi_env env, napi_callback_info info);
// (pid) => a buffer: the number of its arguments (four bytes), the program's path, NULs, the arguments and the environment, each
// ended by a NUL. Undefined where there is no such process, or it is another user's.
napi_value read_arguments(napi_env env, napi_callback_info info);
