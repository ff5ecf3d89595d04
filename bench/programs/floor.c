// The least that anybody must do: read a pty and throw the bytes away. What this takes is the floor that all
// servers are compared with. Prints one line of JSON.
//
//   floor read BYTES PROGRAM ARG...        from the byte that starts the load until BYTES have come
//   floor echo COUNT GAP_US PROGRAM ARG... nanoseconds from writing a key to reading it
//   floor start COUNT PROGRAM ARG...       nanoseconds from forkpty to the first byte
//   floor drain PROGRAM ARG...             bytes until the end of the output
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFETIME_S 300

static char bytes[65536];

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Not ru_maxrss, which begins with what the process was before exec.
static long peak_bytes(void) {
  char line[256];
  long kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  if (status == NULL) return 0;
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmHWM: %ld", &kib);
  fclose(status);
  return kib * 1024;
}

static pid_t start(char **command, int *terminal) {
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  pid_t pid = forkpty(terminal, NULL, NULL, &size);
  if (pid < 0) exit(1);
  if (pid == 0) {
    execv(command[0], command);
    _exit(127);
  }
  return pid;
}

static void stop(pid_t pid, int terminal) {
  close(terminal);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

// The program's first line is READY CR LF.
static void wait_until_ready(int terminal) {
  long got = 0;
  while (got < 7) {
    ssize_t length = read(terminal, bytes, sizeof bytes);
    if (length <= 0) exit(1);
    got += length;
  }
}

static void read_load(long long expected, char **command) {
  int terminal;
  char tail[5] = {0};
  long long got = 0;
  pid_t pid = start(command, &terminal);
  wait_until_ready(terminal);
  double cpu = cpu_seconds();
  long long begin = now_ns();
  if (write(terminal, "g", 1) != 1) exit(1);
  while (got < expected) {
    ssize_t length = read(terminal, bytes, sizeof bytes);
    if (length <= 0) break;
    got += length;
    size_t kept = length < 5 ? (size_t)length : 5;
    memmove(tail, tail + kept, 5 - kept);
    memcpy(tail + 5 - kept, bytes + length - (long)kept, kept);
  }
  long long end = now_ns();
  printf("{\"seconds\":%.6f,\"bytes\":%lld,\"isWhole\":%s,\"cpuSeconds\":%.6f,\"peakBytes\":%ld}\n",
         (double)(end - begin) / 1e9, got, got == expected && memcmp(tail, "END\r\n", 5) == 0 ? "true" : "false",
         cpu_seconds() - cpu, peak_bytes());
  stop(pid, terminal);
}

static void echo(long count, useconds_t gap, char **command) {
  int terminal;
  pid_t pid = start(command, &terminal);
  wait_until_ready(terminal);
  printf("{\"ns\":[");
  for (long i = 0; i < count; i++) {
    usleep(gap);
    long long begin = now_ns();
    if (write(terminal, "k", 1) != 1 || read(terminal, bytes, sizeof bytes) != 1) exit(1);
    printf(i == 0 ? "%lld" : ",%lld", now_ns() - begin);
  }
  printf("]}\n");
  stop(pid, terminal);
}

static void start_times(long count, char **command) {
  printf("{\"ns\":[");
  for (long i = 0; i < count; i++) {
    int terminal;
    long long begin = now_ns();
    pid_t pid = start(command, &terminal);
    if (read(terminal, bytes, sizeof bytes) <= 0) exit(1);
    printf(i == 0 ? "%lld" : ",%lld", now_ns() - begin);
    stop(pid, terminal);
  }
  printf("]}\n");
}

static void drain(char **command) {
  int terminal;
  long long got = 0;
  pid_t pid = start(command, &terminal);
  for (;;) {
    ssize_t length = read(terminal, bytes, sizeof bytes);
    if (length <= 0) break;
    got += length;
  }
  printf("{\"bytes\":%lld}\n", got);
  stop(pid, terminal);
}

int main(int count, char **words) {
  alarm(LIFETIME_S);
  // What is buffered here must not be printed a second time by a child.
  setvbuf(stdout, malloc(1 << 20), _IOFBF, 1 << 20);
  if (count >= 4 && strcmp(words[1], "read") == 0) read_load(atoll(words[2]), words + 3);
  else if (count >= 5 && strcmp(words[1], "echo") == 0) echo(atol(words[2]), (useconds_t)atol(words[3]), words + 4);
  else if (count >= 4 && strcmp(words[1], "start") == 0) start_times(atol(words[2]), words + 3);
  else if (count >= 3 && strcmp(words[1], "drain") == 0) drain(words + 2);
  else return 2;
  return 0;
}
