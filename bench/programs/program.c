// What runs inside the terminals of the benchmark. It writes as fast as the terminal takes it, from blocks made before.
//
//   program load FILE COUNT   READY, waits for one byte, FILE written COUNT times, END; then waits for the end of its input
//   program echo              READY, then every byte that comes in goes out again
//   program burst FILE BYTES  the first BYTES of FILE repeated, then exits at once
//   program typing FILE RATE  FILE repeated, RATE bytes a second, above a status line that counts the keys: "key N"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

// Nothing that the benchmark starts may outlive it for long, whatever happens to the server above it.
#define LIFETIME_S 900

static void write_all(const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(STDOUT_FILENO, bytes, length);
    if (written <= 0) exit(1);
    bytes += written;
    length -= (size_t)written;
  }
}

static char *read_block(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) exit(2);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *block = malloc(*length);
  if (block == NULL || fread(block, 1, *length, file) != *length) exit(2);
  fclose(file);
  return block;
}

// Keys arrive one by one and are not printed by the terminal itself; line ends still go out as CR LF.
static void quiet_terminal(void) {
  struct termios modes;
  if (tcgetattr(STDIN_FILENO, &modes) != 0) return;
  modes.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
  tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

static void load(const char *path, long count) {
  size_t length;
  char byte;
  char *block = read_block(path, &length);
  write_all("READY\n", 6);
  if (read(STDIN_FILENO, &byte, 1) != 1) exit(0);
  for (long i = 0; i < count; i++) write_all(block, length);
  write_all("END\n", 4);
  while (read(STDIN_FILENO, &byte, 1) == 1) continue;
}

static void echo(void) {
  char bytes[4096];
  write_all("READY\n", 6);
  for (;;) {
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) return;
    write_all(bytes, (size_t)got);
  }
}

static void burst(const char *path, size_t bytes) {
  size_t length;
  char *block = read_block(path, &length);
  while (bytes > 0) {
    size_t part = bytes < length ? bytes : length;
    write_all(block, part);
    bytes -= part;
  }
}

static volatile sig_atomic_t is_resized = 1;

static void resized(int signal) {
  (void)signal;
  is_resized = 1;
}

// All but the last line scrolls; the cursor stays where it was.
static void draw_status(int keys) {
  struct winsize size = {.ws_row = 24};
  char text[128];
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  if (is_resized) write_all(text, (size_t)snprintf(text, sizeof text, "\x1b[1;%dr\x1b[H", size.ws_row - 1));
  is_resized = 0;
  write_all(text, (size_t)snprintf(text, sizeof text, "\x1b" "7\x1b[%d;1H\x1b[Kkey %d\x1b" "8", size.ws_row, keys));
}

// A reader that takes less than RATE is not sent more later.
#define PIECE_BYTES 4096
#define MOST_DUE_BYTES (64 * 1024)

static void typing(const char *path, double rate) {
  size_t length, at = 0;
  char *block = read_block(path, &length);
  char bytes[64];
  int keys = 0;
  double due = 0;
  struct timespec before, now;
  signal(SIGWINCH, resized);
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (;;) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int wait_ms = due >= PIECE_BYTES ? 0 : rate > 0 ? 1 : 1000;
    if (poll(&input, 1, wait_ms) > 0) {
      ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
      if (got <= 0) return;
      keys += (int)got;
      draw_status(keys);
    }
    if (is_resized) draw_status(keys);
    clock_gettime(CLOCK_MONOTONIC, &now);
    due += rate * ((double)(now.tv_sec - before.tv_sec) + (double)(now.tv_nsec - before.tv_nsec) / 1e9);
    before = now;
    if (due > MOST_DUE_BYTES) due = MOST_DUE_BYTES;
    if (due < PIECE_BYTES) continue;
    size_t part = length - at < PIECE_BYTES ? length - at : PIECE_BYTES;
    write_all(block + at, part);
    at = (at + part) % length;
    due -= (double)part;
  }
}

int main(int count, char **words) {
  alarm(LIFETIME_S);
  if (count == 4 && strcmp(words[1], "burst") == 0) {
    burst(words[2], strtoul(words[3], NULL, 10));
    return 0;
  }
  quiet_terminal();
  if (count == 4 && strcmp(words[1], "load") == 0) load(words[2], strtol(words[3], NULL, 10));
  else if (count == 2 && strcmp(words[1], "echo") == 0) echo();
  else if (count == 4 && strcmp(words[1], "typing") == 0) typing(words[2], atof(words[3]));
  else return 2;
  return 0;
}
