// What a test run can be told from outside.

const IMAGE = "ttyhq:dev";

/** The image that containers are started from: TTYHQ_IMAGE, or what docker/build.sh makes. */
export function imageName(): string {
  return process.env.TTYHQ_IMAGE || IMAGE;
}
