// Certificates as an administrator creates them: by openssl, in a temporary directory.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** PEM, and the paths of the files. */
export type OpensslIdentity = {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
};

export type Certified = {
  /** In openssl's notation: `/CN=Ada/emailAddress=ada@example.com`. */
  readonly subject: string;
  /** As `subjectAltName` in openssl's configuration: `email:ada@example.com,DNS:localhost`. */
  readonly names?: string;
  /** `clientAuth` or `serverAuth`; without it: for all uses. */
  readonly purpose?: string;
  /** Default 1; negative: it has expired. */
  readonly days?: number;
};

export class OpensslAuthority implements AsyncDisposable {
  readonly #directory: string;
  readonly #own: OpensslIdentity;
  #count = 0;

  private constructor(directory: string, own: OpensslIdentity) {
    this.#directory = directory;
    this.#own = own;
  }

  static async make(name = "authority"): Promise<OpensslAuthority> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-ca-"));
    const [keyFile, certFile] = [join(directory, "ca.key"), join(directory, "ca.pem")];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", keyFile];
    await run("openssl", ["req", "-x509", ...key, "-out", certFile, "-days", "1", "-subj", `/CN=${name}`]);
    return new OpensslAuthority(directory, await identityOf(certFile, keyFile));
  }

  /** The file with the authority's certificate. */
  get certFile(): string {
    return this.#own.certFile;
  }

  get cert(): string {
    return this.#own.cert;
  }

  async issue({ subject, names, purpose, days = 1 }: Certified): Promise<OpensslIdentity> {
    this.#count += 1;
    const at = (suffix: string): string => join(this.#directory, `${this.#count}.${suffix}`);
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at("key")];
    await run("openssl", ["req", "-new", "-utf8", ...key, "-out", at("csr"), "-subj", subject]);
    const extensions = [
      ...(names === undefined ? [] : [`subjectAltName=${names}`]),
      ...(purpose === undefined ? [] : [`extendedKeyUsage=${purpose}`]),
      "basicConstraints=CA:FALSE",
    ];
    await writeFile(at("ext"), extensions.join("\n"));
    const authority = ["-CA", this.#own.certFile, "-CAkey", this.#own.keyFile, "-CAcreateserial"];
    const extended = ["-days", `${days}`, "-extfile", at("ext")];
    await run("openssl", ["x509", "-req", "-in", at("csr"), ...authority, ...extended, "-out", at("pem")]);
    return await identityOf(at("pem"), at("key"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function identityOf(certFile: string, keyFile: string): Promise<OpensslIdentity> {
  const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
  return { cert, key, certFile, keyFile };
}
