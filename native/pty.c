// Starts a program in a new pseudo-terminal and reports its end.
//
// On Linux by posix_spawn(3) and from a pidfd: fork(2) copies the page tables of the whole process, which takes milliseconds in a
// large one. On macOS by fork(2) and from SIGCHLD: its posix_spawn(3) makes the session only after the file actions, so that no
// terminal which they open becomes the controlling one.
#define _GNU_SOURCE
#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <uv.h>

enum { PTS_NAME_BYTES = 64 };

// A program that runs. What is watched is its pidfd, or where that is -1 the signal SIGCHLD.
typedef struct {
  union {
    uv_handle_t handle;
    uv_poll_t poll;
    uv_signal_t signal;
  } watched;
  int pidfd;
  pid_t pid;
  napi_env env;
  napi_ref on_exit;
  napi_async_cleanup_hook_handle cleanup;
} Child;

// How a program is started and its end is noticed. All return 0 or the error number.
typedef struct {
  // Whether the other end of the terminal has to be open before it is set, and until the program has opened it: macOS gives it
  // its own settings at the first opening.
  bool opens_other_end;
  int (*spawn)(const char *slave, const char *path, char **args, char **variables, const char *cwd, pid_t *pid);
  int (*prepare)(Child *child, uv_loop_t *loop);
  int (*begin)(Child *child);
} Way;

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
#ifdef __APPLE__
  settings.c_cc[VDSUSP] = 25;
  settings.c_cc[VSTATUS] = 20;
#endif
  cfsetispeed(&settings, B38400);
  cfsetospeed(&settings, B38400);
  return settings;
}

static struct winsize size_of(uint32_t cols, uint32_t rows) {
  return (struct winsize){.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};
}

// With close-on-exec, and never blocking.
static int open_ptmx(void) {
#ifdef __linux__
  return posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
#else
  // Other systems need not take the other two flags here.
  int fd = posix_openpt(O_RDWR | O_NOCTTY);
  if (fd == -1) return -1;
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != -1 && fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) != -1) return fd;
  close(fd);
  return -1;
#endif
}

// Returns 0 or the error number. `other`: the other end, which the caller closes, or -1 where it stays closed.
static int open_master(const Way *way, const struct winsize *size, int *master, char *slave, int *other) {
  const struct termios settings = initial_settings();
  *master = open_ptmx();
  if (*master == -1) return errno;
  int problem = 0;
  if (grantpt(*master) == -1 || unlockpt(*master) == -1 || ptsname_r(*master, slave, PTS_NAME_BYTES) != 0 ||
      (way->opens_other_end && (*other = open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC)) == -1))
    problem = errno;
  const int set = way->opens_other_end ? *other : *master;
  if (problem == 0 && (tcsetattr(set, TCSANOW, &settings) == -1 || ioctl(set, TIOCSWINSZ, size) == -1)) problem = errno;
  if (problem != 0) close(*master);
  return problem;
}

#ifdef __linux__
static int open_pidfd(pid_t pid) {
  // The system sets close-on-exec.
  return (int)syscall(SYS_pidfd_open, pid, 0);
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
#endif

// In the child. Everything that is called here may be called between fork(2) and exec(2) in a process with threads.
__attribute__((noreturn)) static void run(const char *slave, const char *path, char **args, char **variables,
                                          const char *cwd, int report) {
  sigset_t none;
  sigemptyset(&none);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  int fd = -1, problem;
  if (setsid() != -1 && (fd = open(slave, O_RDWR)) != -1 && ioctl(fd, TIOCSCTTY, 0) != -1 && dup2(fd, 0) != -1 &&
      dup2(fd, 1) != -1 && dup2(fd, 2) != -1 && chdir(cwd) != -1 && sigprocmask(SIG_SETMASK, &none, NULL) != -1) {
    if (fd > 2) close(fd);
    execve(path, args, variables);
  }
  problem = errno;
  _exit(write(report, &problem, sizeof problem) == sizeof problem ? 127 : 126);
}

// The child says over a pipe why the program was not started. The program's start closes the pipe.
static int fork_in(const char *slave, const char *path, char **args, char **variables, const char *cwd, pid_t *pid) {
  int report[2], problem = 0;
  sigset_t all, before;
  sigfillset(&all);
  if (pipe(report) == -1) return errno;
  if (fcntl(report[0], F_SETFD, FD_CLOEXEC) == -1 || fcntl(report[1], F_SETFD, FD_CLOEXEC) == -1) problem = errno;
  // No handler of this process may run in the child.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (problem == 0 && (*pid = fork()) == -1) problem = errno;
  if (problem == 0 && *pid == 0) run(slave, path, args, variables, cwd, report[1]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (problem == 0) {
    while (read(report[0], &problem, sizeof problem) == -1 && errno == EINTR);
    if (problem != 0) waitpid(*pid, NULL, 0);
  }
  close(report[0]);
  return problem;
}

static void released(uv_handle_t *handle) {
  Child *child = handle->data;
  napi_remove_async_cleanup_hook(child->cleanup);
  free(child);
}

static void stop_watching(Child *child) {
  if (uv_is_closing(&child->watched.handle)) return;
  uv_close(&child->watched.handle, released);
  if (child->pidfd != -1) close(child->pidfd);
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

// Returns whether the program has ended.
static bool check_end(Child *child) {
  int status = 0;
  pid_t found;
  while ((found = waitpid(child->pid, &status, WNOHANG)) == -1 && errno == EINTR);
  if (found == 0) return false;
  if (uv_is_closing(&child->watched.handle)) return true;
  stop_watching(child);
  report(child, status);
  return true;
}

static void signalled(uv_signal_t *signal, int number) {
  (void)number;
  check_end(signal->data);
}

static int prepare_signal(Child *child, uv_loop_t *loop) {
  child->pidfd = -1;
  return uv_signal_init(loop, &child->watched.signal) == 0 ? 0 : ENOMEM;
}

static int begin_signal(Child *child) {
  if (uv_signal_start(&child->watched.signal, signalled, SIGCHLD) != 0) return ENOMEM;
  // The program may have ended before.
  raise(SIGCHLD);
  return 0;
}

static const Way FORK = {
    .opens_other_end = true, .spawn = fork_in, .prepare = prepare_signal, .begin = begin_signal};

// Calls `on_exit` with the exit code and the signal, once. Returns 0 or the error number.
static int watch(napi_env env, const Way *way, pid_t pid, napi_value on_exit) {
  Child *child = calloc(1, sizeof *child);
  if (child == NULL) return ENOMEM;
  uv_loop_t *loop;
  child->pid = pid;
  child->env = env;
  int problem = napi_get_uv_event_loop(env, &loop) == napi_ok ? way->prepare(child, loop) : ENOMEM;
  if (problem != 0) {
    free(child);
    return problem;
  }
  child->watched.handle.data = child;
  if (napi_create_reference(env, on_exit, 1, &child->on_exit) == napi_ok &&
      napi_add_async_cleanup_hook(env, abandon, child, &child->cleanup) == napi_ok && way->begin(child) == 0)
    return 0;
  stop_watching(child);
  return ENOMEM;
}

#ifdef __linux__
// A debugger's child that has ended is the debugger's to wait for first. Until then its pidfd is readable all the time, but
// the system sends SIGCHLD when the debugger has waited or let go.
static void watch_by_signal(Child *child) {
  napi_handle_scope scope;
  napi_value on_exit;
  if (napi_open_handle_scope(child->env, &scope) != napi_ok) return;
  if (napi_get_reference_value(child->env, child->on_exit, &on_exit) == napi_ok &&
      watch(child->env, &FORK, child->pid, on_exit) == 0) {
    napi_delete_reference(child->env, child->on_exit);
    stop_watching(child);
  }
  napi_close_handle_scope(child->env, scope);
}

static void ended(uv_poll_t *poll, int problem, int events) {
  (void)problem;
  (void)events;
  if (!check_end(poll->data)) watch_by_signal(poll->data);
}

static int prepare_pidfd(Child *child, uv_loop_t *loop) {
  child->pidfd = open_pidfd(child->pid);
  if (child->pidfd == -1) return errno;
  if (uv_poll_init(loop, &child->watched.poll, child->pidfd) == 0) return 0;
  close(child->pidfd);
  return ENOMEM;
}

static int begin_pidfd(Child *child) {
  return uv_poll_start(&child->watched.poll, UV_READABLE, ended) == 0 ? 0 : ENOMEM;
}

static const Way SPAWN = {.spawn = spawn_in, .prepare = prepare_pidfd, .begin = begin_pidfd};
#endif

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

static napi_value start(napi_env env, napi_callback_info info, const Way *way) {
  enum { PATH, ARGS, ENV, CWD, COLS, ROWS, ON_EXIT, ARGUMENTS };
  size_t count = ARGUMENTS;
  napi_value arguments[ARGUMENTS], result = NULL;
  uint32_t cols, rows;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < ARGUMENTS ||
      napi_get_value_uint32(env, arguments[COLS], &cols) != napi_ok ||
      napi_get_value_uint32(env, arguments[ROWS], &rows) != napi_ok) {
    napi_throw_type_error(env, NULL, "a start in a terminal wants path, args, env, cwd, cols, rows, onExit");
    return NULL;
  }
  char *path = text_of(env, arguments[PATH]), *cwd = text_of(env, arguments[CWD]);
  char **args = texts_of(env, arguments[ARGS]), **variables = texts_of(env, arguments[ENV]);
  char slave[PTS_NAME_BYTES];
  const struct winsize size = size_of(cols, rows);
  int master = -1, other = -1, problem = path == NULL || cwd == NULL || args == NULL || variables == NULL ? EINVAL : 0;
  pid_t pid = 0;
  if (problem == 0) problem = open_master(way, &size, &master, slave, &other);
  if (problem == 0 && (problem = way->spawn(slave, path, args, variables, cwd, &pid)) != 0) close(master);
  if (other != -1) close(other);
  if (problem == 0 && (problem = watch(env, way, pid, arguments[ON_EXIT])) != 0) {
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

napi_value fork_in_pty(napi_env env, napi_callback_info info) {
  return start(env, info, &FORK);
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
  const struct winsize size = size_of(cols, rows);
  return number(env, ioctl(fd, TIOCSWINSZ, &size) == -1 ? -errno : 0);
}

#ifdef __linux__
napi_value spawn_in_pty(napi_env env, napi_callback_info info) {
  return start(env, info, &SPAWN);
}

bool has_pidfd(void) {
  int fd = open_pidfd(getpid());
  if (fd != -1) close(fd);
  return fd != -1;
}
#endif
