// Asks PAM about one login: whether that is who they say (pam_authenticate), and whether the account may be used now
// (pam_acct_mgmt). The account worker starts one process for each login (src/auth/accounts/pam.ts); what PAM asks, and
// the answers, go through standard output and input, so nothing secret is in an argument or the environment.
//
// All numbers have four bytes, the highest first; a text is its length and its bytes. Read first: the texts of service,
// user and remote host, the last may be empty. Written: 'P' TEXT a question without echo, 'E' TEXT one with echo, 'I' TEXT
// information, 'X' TEXT an error message; 'A' asks for as many answers as there were questions since the last 'A', each a
// text; 'D' NUMBER is Linux-PAM's code, and the end.
#include <security/pam_appl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

// Nobody waits for longer: eight questions of a minute each, and the time that PAM takes between them.
enum { LIFETIME_S = 900, FAILED = 1 };

// Unbuffered, so that the one copy of an answer is PAM's, which its modules overwrite. Nobody at the other end: the end.
static void read_all(void *into, size_t length) {
  unsigned char *next = into;
  while (length > 0) {
    ssize_t count = read(STDIN_FILENO, next, length);
    if (count <= 0) _exit(FAILED);
    next += count;
    length -= (size_t)count;
  }
}

static void write_all(const void *from, size_t length) {
  const unsigned char *next = from;
  while (length > 0) {
    ssize_t count = write(STDOUT_FILENO, next, length);
    if (count <= 0) _exit(FAILED);
    next += count;
    length -= (size_t)count;
  }
}

static uint32_t read_number(void) {
  unsigned char bytes[4];
  read_all(bytes, sizeof bytes);
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void write_number(uint32_t value) {
  unsigned char bytes[4] = {value >> 24, value >> 16, value >> 8, value};
  write_all(bytes, sizeof bytes);
}

// Ends with a NUL; PAM, or whoever asked, frees it.
static char *read_text(void) {
  uint32_t length = read_number();
  if (length >= PAM_MAX_RESP_SIZE * 2) _exit(FAILED);
  char *text = malloc(length + 1);
  if (text == NULL) _exit(FAILED);
  read_all(text, length);
  text[length] = '\0';
  return text;
}

static void write_message(char kind, const char *text) {
  size_t length = text == NULL ? 0 : strlen(text);
  write_all(&kind, 1);
  write_number((uint32_t)length);
  write_all(text, length);
}

static char kind_of(int style) {
  switch (style) {
    case PAM_PROMPT_ECHO_OFF: return 'P';
    case PAM_PROMPT_ECHO_ON: return 'E';
    case PAM_TEXT_INFO: return 'I';
    case PAM_ERROR_MSG: return 'X';
    default: return '\0';
  }
}

static int is_question(const struct pam_message *message) {
  return message->msg_style == PAM_PROMPT_ECHO_OFF || message->msg_style == PAM_PROMPT_ECHO_ON;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
  int questions = 0;
  for (int index = 0; index < count; index++) {
    if (kind_of(messages[index]->msg_style) == '\0') return PAM_CONV_ERR;
    questions += is_question(messages[index]);
  }
  struct pam_response *found = calloc((size_t)count, sizeof *found);
  if (found == NULL) return PAM_BUF_ERR;
  for (int index = 0; index < count; index++)
    write_message(kind_of(messages[index]->msg_style), messages[index]->msg);
  if (questions > 0) write_all("A", 1);
  for (int index = 0; index < count; index++)
    if (is_question(messages[index])) found[index].resp = read_text();
  *responses = found;
  return PAM_SUCCESS;
}

static int ask(const char *service, const char *user, const char *host) {
  const struct pam_conv conversation = {converse, NULL};
  pam_handle_t *pam = NULL;
  int code = pam_start(service, user, &conversation, &pam);
  if (code != PAM_SUCCESS) return code;
  if (*host != '\0') code = pam_set_item(pam, PAM_RHOST, host);
  if (code == PAM_SUCCESS) code = pam_authenticate(pam, 0);
  if (code == PAM_SUCCESS) code = pam_acct_mgmt(pam, 0);
  // A module may have mapped the user to another one, whom nobody has asked about.
  const void *now = NULL;
  if (code == PAM_SUCCESS) code = pam_get_item(pam, PAM_USER, &now);
  if (code == PAM_SUCCESS && (now == NULL || strcmp(now, user) != 0)) code = PAM_USER_UNKNOWN;
  pam_end(pam, code);
  return code;
}

// The number that Linux-PAM has for a code: OpenPAM, which macOS has, numbers them in another order. There, codes that are not in
// the table get a number that is nobody's.
static uint32_t number_of(int code) {
  static const int CODES[] = {[6] = PAM_PERM_DENIED, [7] = PAM_AUTH_ERR,          [10] = PAM_USER_UNKNOWN,
                              [11] = PAM_MAXTRIES,   [12] = PAM_NEW_AUTHTOK_REQD, [13] = PAM_ACCT_EXPIRED};
  if (code == PAM_SUCCESS) return 0;
  for (uint32_t number = 0; number < sizeof CODES / sizeof *CODES; number++)
    if (CODES[number] == code) return number;
  return (uint32_t)code + (PAM_AUTH_ERR == 7 ? 0 : 10000);
}

int main(void) {
  // Passwords are in this memory: no core file, and no look at it by others of the same user.
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  alarm(LIFETIME_S);
  char *service = read_text();
  char *user = read_text();
  char *host = read_text();
  int code = ask(service, user, host);
  write_all("D", 1);
  write_number(number_of(code));
  return 0;
}
