export type ScreenSource = {
  id: string;
  outputPath: string;
  checkpointPath: string;
  upTo: number;
  sizes: readonly { offset: number; cols: number; rows: number }[];
};
export class Screens {
  async resync(
    s: ScreenSource,
  ): Promise<{ offset: number; size: { cols: number; rows: number }; bytes: Uint8Array }> {
    return { offset: s.upTo, size: s.sizes.at(-1) ?? { cols: 80, rows: 24 }, bytes: new Uint8Array() };
  }
  async text(_s: ScreenSource, _v: unknown): Promise<string> {
    return "";
  }
  async snapshot(s: ScreenSource): Promise<{ offset: number; bytes: Uint8Array }> {
    return { offset: s.upTo, bytes: new Uint8Array(32) };
  }
  forget(_id: string): void {}
}
