// The native module: system calls that Node does not offer. The one here is FD_CLOEXEC.
// node-pty opens pty masters without it, so every program would inherit the terminals of all sessions
// started before it, could type into them, and would keep them open after the host has died.
#include <fcntl.h>
#include <node_api.h>

#include "unix-datagram.h"

static napi_value set_close_on_exec(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argument;
  int32_t fd;
  if (napi_get_cb_info(env, info, &argc, &argument, NULL, NULL) != napi_ok || argc < 1 ||
      napi_get_value_int32(env, argument, &fd) != napi_ok) {
    napi_throw_type_error(env, NULL, "setCloseOnExec wants a file descriptor");
    return NULL;
  }
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1) napi_throw_error(env, NULL, "fcntl(F_SETFD) failed");
  return NULL;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {.utf8name = "setCloseOnExec", .method = set_close_on_exec, .attributes = napi_enumerable},
      {.utf8name = "sendUnixDatagram", .method = send_unix_datagram, .attributes = napi_enumerable},
  };
  if (napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions) != napi_ok) {
    napi_throw_error(env, NULL, "the native module of ttyhq could not be set up");
  }
  return exports;
}
