{
  "variables": {
    # Where PAM's headers are not installed, everything else is built all the same.
    "has_pam%": "<!(printf '#include <security/pam_appl.h>' | ${CC:-cc} -E - >/dev/null 2>&1 && echo 1 || echo 0)"
  },
  "targets": [
    {
      "target_name": "ttyhq",
      "sources": ["native/json.c", "native/module.c", "native/peer.c", "native/pty.c", "native/unix-datagram.c"],
      "cflags": ["-Wall", "-Wextra", "-O2"],
      # Linux has /proc.
      "conditions": [["OS == 'mac'", {"sources": ["native/process.c"]}]]
    }
  ],
  "conditions": [
    ["OS == 'linux' or OS == 'mac'", {
      "targets": [
        {
          "target_name": "ttyhq-run-as",
          "type": "executable",
          "product_extension": "",
          "sources": ["native/run-as.c"],
          "cflags": ["-Wall", "-Wextra", "-O2"]
        }
      ]
    }],
    ["has_pam == 1", {
      "targets": [
        {
          "target_name": "ttyhq-pam",
          "type": "executable",
          "product_extension": "",
          "sources": ["native/pam.c"],
          "cflags": ["-Wall", "-Wextra", "-O2"],
          "libraries": ["-lpam"]
        }
      ]
    }]
  ]
}
