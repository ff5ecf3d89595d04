// Sends one datagram to a unix socket, such as /dev/log: Node has unix sockets for streams alone. Never waits: a receiver
// whose queue is full is EAGAIN. Returns 0 or the error number.
#define _GNU_SOURCE
#include "unix-datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int send_to(const struct sockaddr_un *address, const void *bytes, size_t length) {
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd == -1) return errno;
  int problem = 0;
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 || fcntl(fd, F_SETFL, O_NONBLOCK) == -1 ||
      sendto(fd, bytes, length, 0, (const struct sockaddr *)address, sizeof *address) == -1) {
    problem = errno;
  }
  close(fd);
  return problem;
}

napi_value send_unix_datagram(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value arguments[2];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t path_length, length;
  void *bytes;
  napi_value result;
  // The path gets its end even where it is cut: one that is too long is refused.
  if (napi_get_cb_info(env, info, &argc, arguments, NULL, NULL) != napi_ok || argc < 2 ||
      napi_get_value_string_utf8(env, arguments[0], NULL, 0, &path_length) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[0], address.sun_path, sizeof address.sun_path, NULL) != napi_ok ||
      napi_get_buffer_info(env, arguments[1], &bytes, &length) != napi_ok) {
    napi_throw_type_error(env, NULL, "sendUnixDatagram wants a path and a buffer");
    return NULL;
  }
  int problem = path_length < sizeof address.sun_path ? send_to(&address, bytes, length) : ENAMETOOLONG;
  if (napi_create_int32(env, problem, &result) != napi_ok) return NULL;
  return result;
}
