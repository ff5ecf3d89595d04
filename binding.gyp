{
  "targets": [
    {
      "target_name": "ttyhq",
      "sources": ["native/close-on-exec.c", "native/unix-datagram.c"],
      "cflags": ["-Wall", "-Wextra", "-O2"]
    }
  ],
  "conditions": [
    ["OS == 'linux'", {
      "targets": [
        {
          "target_name": "ttyhq-run-as",
          "type": "executable",
          "product_extension": "",
          "sources": ["native/run-as.c"],
          "cflags": ["-Wall", "-Wextra", "-O2"]
        }
      ]
    }]
  ]
}
