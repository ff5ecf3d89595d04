// What runs inside the terminals of the benchmark. It writes as fast as the terminal takes it, from blocks made before.
//
//   program load FILE COUNT   READY, waits for one byte, FILE written COUNT times, END; then waits for the end of its input
//   program echo              READY, then every byte that comes in goes out again
//   program burst FILE BYTES  the first BYTES of FILE repeated, then exits at once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
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

int main(int count, char **words) {
  alarm(LIFETIME_S);
  if (count == 4 && strcmp(words[1], "burst") == 0) {
    burst(words[2], strtoul(words[3], NULL, 10));
    return 0;
  }
  quiet_terminal();
  if (count == 4 && strcmp(words[1], "load") == 0) load(words[2], strtol(words[3], NULL, 10));
  else if (count == 2 && strcmp(words[1], "echo") == 0) echo();
  else return 2;
  return 0;
}
