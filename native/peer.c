// Whose process is at the other end of a unix socket.
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static int find_user(int fd, uid_t *user) {
#ifdef __linux__
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == -1) return errno;
  *user = peer.uid;
  return 0;
#else
  gid_t group;
  return getpeereid(fd, user, &group) == -1 ? errno : 0;
#endif
}

napi_value peer_user(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument, result;
  int32_t fd;
  uid_t user = 0;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count < 1 ||
      napi_get_value_int32(env, argument, &fd) != napi_ok) {
    napi_throw_type_error(env, NULL, "peerUser wants a file descriptor");
    return NULL;
  }
  int problem = find_user(fd, &user);
  if (napi_create_int64(env, problem == 0 ? (int64_t)user : -problem, &result) != napi_ok) return NULL;
  return result;
}
