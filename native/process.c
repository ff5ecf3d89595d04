// The processes of macOS, which has no /proc: sysctl(3), as its ps(1) asks.
#include "process.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "argument.h"

enum { TRIES = 10 };

// Returns what the caller frees, or NULL. The list may grow between the question for its size and the one for itself.
static void *ask(int *name, unsigned words, size_t *size) {
  for (int tries = 0; tries < TRIES; tries++) {
    if (sysctl(name, words, NULL, size, NULL, 0) == -1) return NULL;
    void *found = malloc(*size);
    if (found == NULL || sysctl(name, words, found, size, NULL, 0) == 0) return found;
    free(found);
    if (errno != ENOMEM) return NULL;
  }
  return NULL;
}

napi_value read_processes(napi_env env, napi_callback_info info) {
  int32_t pid;
  napi_value result, value;
  if (!read_number(env, info, "a pid is wanted", &pid) || napi_create_array(env, &result) != napi_ok) return NULL;
  int name[] = {CTL_KERN, KERN_PROC, pid == 0 ? KERN_PROC_ALL : KERN_PROC_PID, pid};
  size_t size = 0;
  struct kinfo_proc *all = ask(name, pid == 0 ? 3 : 4, &size);
  if (all == NULL) {
    napi_throw_error(env, NULL, "the processes cannot be read");
    return NULL;
  }
  uint32_t next = 0;
  for (const struct kinfo_proc *one = all; one < all + size / sizeof *all; one++) {
    const struct timeval start = one->kp_proc.p_starttime;
    // What the list has of the session is an address in the kernel. A zombie has none.
    const double fields[] = {one->kp_proc.p_pid,
                             one->kp_eproc.e_pgid,
                             getsid(one->kp_proc.p_pid),
                             one->kp_eproc.e_tpgid,
                             (double)start.tv_sec * 1e6 + (double)start.tv_usec,
                             one->kp_proc.p_stat == SZOMB};
    for (size_t field = 0; field < sizeof fields / sizeof *fields; field++)
      if (napi_create_double(env, fields[field], &value) == napi_ok) napi_set_element(env, result, next++, value);
  }
  free(all);
  return result;
}

napi_value read_arguments(napi_env env, napi_callback_info info) {
  int32_t pid;
  napi_value result;
  if (!read_number(env, info, "a pid is wanted", &pid)) return NULL;
  int name[] = {CTL_KERN, KERN_PROCARGS2, pid};
  size_t size = 0;
  void *found = ask(name, 3, &size);
  if (found == NULL) return NULL;
  if (napi_create_buffer_copy(env, size, found, NULL, &result) != napi_ok) result = NULL;
  free(found);
  return result;
}
