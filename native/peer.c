// Whose process is at the other end of a unix socket.
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "argument.h"

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
  napi_value result;
  int32_t fd;
  uid_t user = 0;
  if (!read_number(env, info, "peerUser wants a file descriptor", &fd)) return NULL;
  int problem = find_user(fd, &user);
  if (napi_create_int64(env, problem == 0 ? (int64_t)user : -problem, &result) != napi_ok) return NULL;
  return result;
}
