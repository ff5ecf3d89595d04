// Becomes another user and goes on as a program of that user. A session host that is root starts this in a session's
// terminal, in place of the program (src/sessions/run-as.ts): node-pty can set a uid and a gid and nothing else. Process,
// terminal session and exit are the program's, since nothing here forks.
//
//   ttyhq-run-as worker    UID GID GROUPS UMASK LIMITS DIRECTORY FILE ARGUMENT…   keeps descriptor 3, gains no privileges
//   ttyhq-run-as start     UID GID GROUPS UMASK LIMITS DIRECTORY FILE ARGUMENT…
//   ttyhq-run-as program   UID GID GROUPS UMASK LIMITS DIRECTORY FILE   0 when FILE would be found there, else 13
//   ttyhq-run-as directory UID GID GROUPS UMASK LIMITS DIRECTORY        0, or 10 absent, 11 none, 12 closed to the user
//
// GROUPS is 27,100; LIMITS is nofile=1024:524288,core=0:unlimited. The program's environment comes as variables whose
// names begin with a plus sign: under their own names LD_PRELOAD and its like would act here, where this is still root.
// TTYHQ_CGROUP_PROCS, if there, is the file of a control group that the program is to be in.
//
// macOS has no control groups, keyrings or capabilities, and nothing that keeps a worker from gaining privileges.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

extern char **environ;

enum { DIRECTORY_ABSENT = 10, NOT_A_DIRECTORY = 11, DIRECTORY_CLOSED = 12, NO_PROGRAM = 13, FAILED = 125 };

enum { MODE = 1, UID, GID, GROUPS, UMASK, LIMITS, DIRECTORY, FILE_AND_ARGUMENTS };

static const struct {
  const char *name;
  int resource;
} RESOURCES[] = {
    {"cpu", RLIMIT_CPU},       {"fsize", RLIMIT_FSIZE},           {"data", RLIMIT_DATA},
    {"stack", RLIMIT_STACK},   {"core", RLIMIT_CORE},             {"rss", RLIMIT_RSS},
    {"nproc", RLIMIT_NPROC},   {"nofile", RLIMIT_NOFILE},         {"memlock", RLIMIT_MEMLOCK},
    {"as", RLIMIT_AS},
#ifdef __linux__
    {"locks", RLIMIT_LOCKS},   {"sigpending", RLIMIT_SIGPENDING}, {"msgqueue", RLIMIT_MSGQUEUE},
    {"nice", RLIMIT_NICE},     {"rtprio", RLIMIT_RTPRIO},         {"rttime", RLIMIT_RTTIME},
#endif
};

__attribute__((noreturn, format(printf, 2, 3))) static void quit(int code, const char *format, ...) {
  int problem = errno;
  va_list arguments;
  va_start(arguments, format);
  fputs("ttyhq: ", stderr);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  if (problem != 0) fprintf(stderr, ": %s", strerror(problem));
  fputc('\n', stderr);
  exit(code);
}

static unsigned long long number(const char *text, int base, unsigned long long most) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, base);
  if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value > most) {
    errno = 0;
    quit(FAILED, "not a number in range: %s", text);
  }
  return value;
}

static rlim_t amount(const char *text) {
  return strcmp(text, "unlimited") == 0 ? RLIM_INFINITY : (rlim_t)number(text, 10, RLIM_INFINITY - 1);
}

// As login and sshd do it: its user's alone, but for messages of write(1). It goes back to nobody, since a
// pseudo-terminal is gone when its session is.
static void own_terminal(uid_t uid, gid_t gid) {
  if (!isatty(STDIN_FILENO)) return;
  const struct group *tty = getgrnam("tty");
  if (tty != NULL && fchown(STDIN_FILENO, uid, tty->gr_gid) == 0) {
    if (fchmod(STDIN_FILENO, 0620) == -1) quit(FAILED, "cannot set the mode of the terminal");
    return;
  }
  if (fchown(STDIN_FILENO, uid, gid) == -1 || fchmod(STDIN_FILENO, 0600) == -1) {
    quit(FAILED, "cannot give the terminal to user %u", uid);
  }
}

static void set_limit(char *entry) {
  char *soft = strchr(entry, '=');
  char *hard = soft == NULL ? NULL : strchr(soft, ':');
  errno = 0;
  if (hard == NULL) quit(FAILED, "not a limit: %s", entry);
  *soft++ = '\0';
  *hard++ = '\0';
  for (size_t i = 0; i < sizeof RESOURCES / sizeof *RESOURCES; i++) {
    if (strcmp(entry, RESOURCES[i].name) != 0) continue;
    const struct rlimit limit = {.rlim_cur = amount(soft), .rlim_max = amount(hard)};
    if (setrlimit(RESOURCES[i].resource, &limit) == -1) quit(FAILED, "cannot set the limit %s to %s", entry, hard);
    return;
  }
  quit(FAILED, "no such limit: %s", entry);
}

static void set_limits(char *list) {
  for (char *next, *entry = strtok_r(list, ",", &next); entry != NULL; entry = strtok_r(NULL, ",", &next)) {
    set_limit(entry);
  }
}

// Before any limit or identity is the user's, who may not write there.
static void join_control_group(const char *path) {
  if (path == NULL) return;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd == -1 || write(fd, "0", 1) != 1) quit(FAILED, "cannot join the control group of %s", path);
  close(fd);
}

#ifdef __APPLE__
// Who is in more groups than the kernel keeps is in the others by the directory, until setgroups(2) cuts that off.
static void set_groups(uid_t uid, gid_t gid, char *list) {
  (void)list;
  const struct passwd *user = getpwuid(uid);
  if (user == NULL || initgroups(user->pw_name, (int)gid) == -1) quit(FAILED, "cannot set the groups");
}
#else
static void set_groups(uid_t uid, gid_t gid, char *list) {
  (void)uid;
  (void)gid;
  gid_t *groups = calloc(strlen(list) + 1, sizeof *groups);
  if (groups == NULL) quit(FAILED, "no memory for the groups");
  size_t count = 0;
  for (char *next, *entry = strtok_r(list, ",", &next); entry != NULL; entry = strtok_r(NULL, ",", &next)) {
    groups[count++] = (gid_t)number(entry, 10, UINT32_MAX - 1);
  }
  if (setgroups(count, groups) == -1) quit(FAILED, "cannot set the groups");
  free(groups);
}
#endif

#ifdef __linux__
// Root's keys would else be the program's to use: having a session keyring counts, not being its owner. Some containers
// forbid keyrings altogether, to the program as well.
static void leave_keyring(void) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) != -1) return;
  if (errno != ENOSYS && errno != EPERM && errno != EACCES) quit(FAILED, "cannot leave the keyring");
}

static void drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
  memset(none, 0, sizeof none);
  if (syscall(SYS_capset, &header, none) == -1) quit(FAILED, "cannot drop the capabilities");
}

static void gain_no_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) quit(FAILED, "cannot give up gaining privileges");
}
#else
// As root, setgid(2) and setuid(2) change the real, the effective and the saved one.
static int setresgid(gid_t gid, gid_t effective, gid_t saved) {
  return gid == effective && gid == saved ? setgid(gid) : -1;
}

static int setresuid(uid_t uid, uid_t effective, uid_t saved) {
  return uid == effective && uid == saved ? setuid(uid) : -1;
}

static void leave_keyring(void) {}
static void drop_capabilities(void) {}
static void gain_no_privileges(void) {}
#endif

static void become(uid_t uid, gid_t gid) {
  if (setresgid(gid, gid, gid) == -1) quit(FAILED, "cannot become group %u", gid);
  if (setresuid(uid, uid, uid) == -1) quit(FAILED, "cannot become user %u", uid);
  leave_keyring();
  if (uid == 0) return;
  drop_capabilities();
  errno = 0;
  if (setresuid(0, 0, 0) == 0 || getuid() != uid || geteuid() != uid) quit(FAILED, "still somebody else than %u", uid);
}

// Only variables with a plus sign are kept, without it.
static void take_environment(void) {
  char **kept = environ;
  for (char **variable = environ; *variable != NULL; variable++) {
    if (**variable == '+') *kept++ = *variable + 1;
  }
  *kept = NULL;
}

static void close_descriptors(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0u) == 0) return;
#endif
  for (int fd = (int)first; fd < 1024; fd++) close(fd);
}

static int look_at_directory(const char *path) {
  struct stat found;
  if (stat(path, &found) == -1) return DIRECTORY_ABSENT;
  if (!S_ISDIR(found.st_mode)) return NOT_A_DIRECTORY;
  return access(path, X_OK) == 0 ? 0 : DIRECTORY_CLOSED;
}

static int is_program(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

// Where execvp(3) will look. An empty folder of the PATH is the one that one is in.
static int look_for_program(const char *file) {
  if (strchr(file, '/') != NULL) return is_program(file) ? 0 : NO_PROGRAM;
  const char *path = getenv("PATH");
  for (const char *folder = path == NULL ? "" : path;;) {
    size_t length = strcspn(folder, ":");
    char *candidate = NULL;
    if (asprintf(&candidate, "%.*s%s%s", (int)length, folder, length == 0 ? "" : "/", file) == -1) return NO_PROGRAM;
    int is_found = is_program(candidate);
    free(candidate);
    if (is_found) return 0;
    if (folder[length] == '\0') return NO_PROGRAM;
    folder += length + 1;
  }
}

static void enter(const char *directory) {
  if (chdir(directory) == -1) quit(FAILED, "cannot enter %s", directory);
}

int main(int argc, char *argv[]) {
  const char *mode = argc > DIRECTORY ? argv[MODE] : "";
  int is_worker = strcmp(mode, "worker") == 0 && argc > FILE_AND_ARGUMENTS;
  int is_start = is_worker || (strcmp(mode, "start") == 0 && argc > FILE_AND_ARGUMENTS);
  int is_search = strcmp(mode, "program") == 0 && argc == FILE_AND_ARGUMENTS + 1;
  if (!is_start && !is_search && !(strcmp(mode, "directory") == 0 && argc == DIRECTORY + 1)) {
    errno = 0;
    quit(FAILED, "ttyhq-run-as is started by the session host, not by hand");
  }
  uid_t uid = (uid_t)number(argv[UID], 10, UINT32_MAX - 1);
  gid_t gid = (gid_t)number(argv[GID], 10, UINT32_MAX - 1);
  // A worker talks to its host over descriptor 3.
  close_descriptors(is_worker ? 4 : 3);
  if (is_start) own_terminal(uid, gid);
  if (is_start) join_control_group(getenv("TTYHQ_CGROUP_PROCS"));
  set_limits(argv[LIMITS]);
  set_groups(uid, gid, argv[GROUPS]);
  umask((mode_t)number(argv[UMASK], 8, 0777));
  become(uid, gid);
  if (is_worker) gain_no_privileges();
  take_environment();
  if (!is_start && !is_search) return look_at_directory(argv[DIRECTORY]);
  enter(argv[DIRECTORY]);
  char **program = argv + FILE_AND_ARGUMENTS;
  if (is_search) return look_for_program(program[0]);
  execvp(program[0], program);
  int code = errno == ENOENT ? 127 : 126;
  quit(code, "cannot run %s", program[0]);
}
