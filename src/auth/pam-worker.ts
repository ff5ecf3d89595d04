// The process that asks PAM, started by PamProcess.
import { loadPam } from "./pam.ts";
import { type PamAnswer, PamQuestion } from "./pam-message.ts";

const ask = loadPam();

process.on("message", (message) => {
  const { number, ...question } = PamQuestion.parse(message);
  void ask(question).then((code) => process.send?.({ number, code } satisfies PamAnswer));
});

// The server is gone, and with it whoever waits; PAM may be in the middle of something and keep an exit waiting.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
