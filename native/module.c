// The native module: system calls that Node does not offer, and the escaping of recordings.
#include <fcntl.h>
#include <node_api.h>
#include <stdbool.h>

#include "argument.h"
#include "json.h"
#include "peer.h"
#ifdef __APPLE__
#include "process.h"
#endif
#include "pty.h"
#include "unix-datagram.h"

// node-pty opens pty masters without close-on-exec, so every program would inherit the terminals of all sessions
// started before it, could type into them, and would keep them open after the host has died.
static napi_value set_close_on_exec(napi_env env, napi_callback_info info) {
  int32_t fd;
  if (!read_number(env, info, "setCloseOnExec wants a file descriptor", &fd)) return NULL;
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1) napi_throw_error(env, NULL, "fcntl(F_SETFD) failed");
  return NULL;
}

static bool define(napi_env env, napi_value exports, const char *name, napi_callback method) {
  const napi_property_descriptor function = {.utf8name = name, .method = method, .attributes = napi_enumerable};
  return napi_define_properties(env, exports, 1, &function) == napi_ok;
}

NAPI_MODULE_INIT() {
  bool is_whole = define(env, exports, "setCloseOnExec", set_close_on_exec) &&
                  define(env, exports, "escapeJson", escape_json) &&
                  define(env, exports, "sendUnixDatagram", send_unix_datagram) &&
                  define(env, exports, "peerUser", peer_user) && define(env, exports, "forkInPty", fork_in_pty) &&
                  define(env, exports, "resizePty", resize_pty);
#ifdef __linux__
  if (has_pidfd()) is_whole = is_whole && define(env, exports, "spawnInPty", spawn_in_pty);
#endif
#ifdef __APPLE__
  is_whole = is_whole && define(env, exports, "readProcesses", read_processes) &&
             define(env, exports, "readArguments", read_arguments);
#endif
  if (!is_whole) napi_throw_error(env, NULL, "the native module of ttyhq could not be set up");
  return exports;
}
