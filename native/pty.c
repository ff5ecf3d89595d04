// Starts a program in a new pseudo-terminal by posix_spawn(3) and reports its end from a pidfd. Linux only. forkpty(3) copies
// the page tables of the whole process, which takes milliseconds in a large one.
#define _GNU_SOURCE
#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <uv.h>

enum { PTS_NAME_BYTES = 64 };

// A program that runs. `poll` watches its pidfd.
typedef struct {
  uv_poll_t poll;
  int pidfd;
  pid_t pid;
  napi_env env;
  napi_ref on_exit;
  napi_async_cleanup_hook_handle cleanup;
} Child;

static int open_pidfd(pid_t pid) {
  // The system sets close-on-exec.
  return (int)syscall(SYS_pidfd_open, pid, 0);
}

// The settings of a terminal that a person types into.
static struct termios initial_settings(void) {
  struct termios settings = {
      .c_iflag = ICRNL | IXON | IXANY | IMAXBEL | BRKINT | IUTF8,
      .c_oflag = OPOST | ONLCR,
      .c_cflag = CREAD | CS8 | HUPCL,
      .c_lflag = ICANON | ISIG | IEXTEN | ECHO | ECHOE | ECHOK | ECHOKE | ECHOCTL,
      .c_cc = {[VEOF] = 4, [VEOL] = _POSIX_VDISABLE, [VEOL2] = _POSIX_VDISABLE, [VERASE] = 0x7f, [VWERASE] = 23,
               [VKILL] = 21, [VREPRINT] = 18, [VINTR] = 3, [VQUIT] = 0x1c, [VSUSP] = 26, [VSTART] = 17, [VSTOP] = 19,
               [VLNEXT] = 22, [VDISCARD] = 15, [VMIN] = 1, [VTIME] = 0},
  };
  cfsetispeed(&settings, B38400);
  cfsetospeed(&settings, B38400);
  return settings;
}

static int resize(int fd, unsigned short cols, unsigned short rows) {
  const struct winsize size = {.ws_col = cols, .ws_row = rows};
  return ioctl(fd, TIOCSWINSZ, &size) == -1 ? errno : 0;
}

// Returns 0 or the error number.
static int open_master(unsigned short cols, unsigned short rows, int *master, char *slave) {
  const struct termios settings = initial_settings();
  *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (*master == -1) return errno;
  int problem = 0;
  if (grantpt(*master) == -1 || unlockpt(*master) == -1 || ptsname_r(*master, slave, PTS_NAME_BYTES) != 0 ||
      tcsetattr(*master, TCSANOW, &settings) == -1)
    problem = errno;
  if (problem == 0) problem = resize(*master, cols, rows);
  if (problem != 0) close(*master);
  return problem;
}

// In the child a session comes first, so that the terminal that is opened then becomes its controlling terminal.
static int spawn_in(const char *slave, const char *path, char **args, char **variables, const char *cwd, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, none;
  // sigfillset(3) leaves out the signals of the C library itself, which the program would then ignore.
  memset(&all, 0xff, sizeof all);
  sigemptyset(&none);
  int problem = posix_spawn_file_actions_init(&actions);
  if (problem != 0) return problem;
  problem = posix_spawnattr_init(&attributes);
  if (problem == 0) {
    const short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if ((problem = posix_spawnattr_setflags(&attributes, flags)) == 0 &&
        (problem = posix_spawnattr_setsigdefault(&attributes, &all)) == 0 &&
        (problem = posix_spawnattr_setsigmask(&attributes, &none)) == 0 &&
        (problem = posix_spawn_file_actions_addopen(&actions, 0, slave, O_RDWR, 0)) == 0 &&
        (problem = posix_spawn_file_actions_adddup2(&actions, 0, 1)) == 0 &&
        (problem = posix_spawn_file_actions_adddup2(&actions, 0, 2)) == 0 &&
        (problem = posix_spawn_file_actions_addchdir_np(&actions, cwd)) == 0)
      problem = posix_spawn(pid, path, &actions, &attributes, args, variables);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

static void released(uv_handle_t *handle) {
  Child *child = handle->data;
  napi_remove_async_cleanup_hook(child->cleanup);
  free(child);
}

static void stop_watching(Child *child) {
  if (uv_is_closing((uv_handle_t *)&child->poll)) return;
  uv_close((uv_handle_t *)&child->poll, released);
  close(child->pidfd);
}

// The process ends, or the thread that started the program: nobody is left to be told.
static void abandon(napi_async_cleanup_hook_handle hook, void *data) {
  (void)hook;
  stop_watching(data);
}

static void report(Child *child, int status) {
  const napi_env env = child->env;
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_value callback, receiver, error, arguments[2];
  if (napi_get_reference_value(env, child->on_exit, &callback) == napi_ok &&
      napi_get_global(env, &receiver) == napi_ok &&
      napi_create_int32(env, WIFEXITED(status) ? WEXITSTATUS(status) : 0, &arguments[0]) == napi_ok &&
      napi_create_int32(env, WIFSIGNALED(status) ? WTERMSIG(status) : 0, &arguments[1]) == napi_ok) {
    napi_delete_reference(env, child->on_exit);
    if (napi_make_callback(env, NULL, receiver, callback, 2, arguments, NULL) == napi_pending_exception &&
        napi_get_and_clear_last_exception(env, &error) == napi_ok)
      napi_fatal_exception(env, error);
  }
  napi_close_handle_scope(env, scope);
}

static void ended(uv_poll_t *poll, int problem, int events) {
  (void)problem;
  (void)events;
  Child *child = poll->data;
  int status = 0;
  pid_t found;
  while ((found = waitpid(child->pid, &status, WNOHANG)) == -1 && errno == EINTR);
  if (found == 0) return;
  stop_watching(child);
  report(child, status);
}

// Calls `on_exit` with the exit code and the signal, once. Returns 0 or the error number.
static int watch(napi_env env, pid_t pid, napi_value on_exit) {
  Child *child = calloc(1, sizeof *child);
  if (child == NULL) return ENOMEM;
  uv_loop_t *loop;
  child->pid = pid;
  child->env = env;
  child->pidfd = open_pidfd(pid);
  int problem = child->pidfd == -1 ? errno : 0;
  if (problem == 0) {
    if (napi_get_uv_event_loop(env, &loop) == napi_ok && uv_poll_init(loop, &child->poll, child->pidfd) == 0) {
      child->poll.data = child;
      if (napi_create_reference(env, on_exit, 1, &child->on_exit) == napi_ok &&
          napi_add_async_cleanup_hook(env, abandon, child, &child->cleanup) == napi_ok &&
          uv_poll_start(&child->poll, UV_READABLE, ended) == 0)
        return 0;
      stop_watching(child);
      return ENOMEM;
    }
    close(child->pidfd);
    problem = ENOMEM;
  }
  free(child);
  return problem;
}

static char *text_of(napi_env env, napi_value value) {
  size_t length;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) return NULL;
  char *text = malloc(length + 1);
  if (text != NULL) napi_get_value_string_utf8(env, value, text, length + 1, NULL);
  return text;
}

static void free_texts(char **texts) {
  if (texts == NULL) return;
  for (char **text = texts; *text != NULL; text++) free(*text);
  free(texts);
}

// An array of strings, ended by NULL; NULL where it is something else.
static char **texts_of(napi_env env, napi_value array) {
  uint32_t length;
  if (napi_get_array_length(env, array, &length) != napi_ok) return NULL;
  char **texts = calloc(length + 1, sizeof *texts);
  if (texts == NULL) return NULL;
  for (uint32_t i = 0; i < length; i++) {
    napi_value element;
    if (napi_get_element(env, array, i, &element) != napi_ok || (texts[i] = text_of(env, element)) == NULL) {
      free_texts(texts);
      return NULL;
    }
  }
  return texts;
}

static napi_value number(napi_env env, int value) {
  napi_value result;
  return napi_create_int32(env, value, &result) == napi_ok ? result : NULL;
}

napi_value spawn_in_pty(napi_env env, napi_callback_info info) {
  enum { PATH, ARGS, ENV, CWD, COLS, ROWS, ON_EXIT, ARGUMENTS };
  size_t count = ARGUMENTS;
  napi_value arguments[ARGUMENTS], result = NULL;
  uint32_t cols, rows;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < ARGUMENTS ||
      napi_get_value_uint32(env, arguments[COLS], &cols) != napi_ok ||
      napi_get_value_uint32(env, arguments[ROWS], &rows) != napi_ok) {
    napi_throw_type_error(env, NULL, "spawnInPty wants path, args, env, cwd, cols, rows, onExit");
    return NULL;
  }
  char *path = text_of(env, arguments[PATH]), *cwd = text_of(env, arguments[CWD]);
  char **args = texts_of(env, arguments[ARGS]), **variables = texts_of(env, arguments[ENV]);
  char slave[PTS_NAME_BYTES];
  int master = -1, problem = path == NULL || cwd == NULL || args == NULL || variables == NULL ? EINVAL : 0;
  pid_t pid = 0;
  if (problem == 0) problem = open_master((unsigned short)cols, (unsigned short)rows, &master, slave);
  if (problem == 0 && (problem = spawn_in(slave, path, args, variables, cwd, &pid)) != 0) close(master);
  if (problem == 0 && (problem = watch(env, pid, arguments[ON_EXIT])) != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(master);
  }
  free(path);
  free(cwd);
  free_texts(args);
  free_texts(variables);
  if (problem != 0) return number(env, -problem);
  if (napi_create_object(env, &result) == napi_ok) {
    napi_set_named_property(env, result, "fd", number(env, master));
    napi_set_named_property(env, result, "pid", number(env, pid));
  }
  return result;
}

napi_value resize_pty(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3];
  int32_t fd;
  uint32_t cols, rows;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 3 ||
      napi_get_value_int32(env, arguments[0], &fd) != napi_ok ||
      napi_get_value_uint32(env, arguments[1], &cols) != napi_ok ||
      napi_get_value_uint32(env, arguments[2], &rows) != napi_ok) {
    napi_throw_type_error(env, NULL, "resizePty wants a descriptor, cols, rows");
    return NULL;
  }
  return number(env, -resize(fd, (unsigned short)cols, (unsigned short)rows));
}

bool has_pidfd(void) {
  int fd = open_pidfd(getpid());
  if (fd != -1) close(fd);
  return fd != -1;
}
