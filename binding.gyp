{
  "targets": [
    { "target_name": "ttyhq", "sources": ["native/close-on-exec.c"], "cflags": ["-Wall", "-Wextra", "-O2"] }
  ]
}
