// Makes a PNG of a screenshot smaller: at most 256 colours instead of 24 bits per pixel.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const MAX_COLORS = 256;
const RGB = 2;

type Picture = { readonly width: number; readonly height: number; readonly pixels: Uint8Array };

/** `png`: 8 bits for each of red, green and blue, not interlaced, as Chromium writes it. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const { palette, indexes } = quantize(pixels);
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1)
    rows.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const parts = [
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
  ];
  return Buffer.concat([SIGNATURE, ...parts, chunk("IEND", Buffer.alloc(0))]);
}

type Color = readonly [red: number, green: number, blue: number];

/** Keeps the most frequent colours; every other colour becomes the nearest of them. */
function quantize(pixels: Uint8Array): { readonly palette: Buffer; readonly indexes: Uint8Array } {
  const colors = new Uint32Array(pixels.length / 3).map((_, at) => readColor(pixels, at * 3));
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const frequent = [...counts].toSorted(([, one], [, other]) => other - one).map(([color]) => color);
  const kept = frequent.slice(0, MAX_COLORS).map(partsOf);
  const numbers = new Map(
    frequent.map((color, rank) => [color, rank < MAX_COLORS ? rank : nearest(kept, color)]),
  );
  return {
    palette: Buffer.from(kept.flat()),
    indexes: Uint8Array.from(colors, (color) => numbers.get(color) ?? 0),
  };
}

function nearest(kept: readonly Color[], color: number): number {
  const [red, green, blue] = partsOf(color);
  const distances = kept.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
  return distances.indexOf(Math.min(...distances));
}

function partsOf(color: number): Color {
  return [color >> 16, (color >> 8) & 0xff, color & 0xff];
}

function readColor(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}

function decode(png: Buffer): Picture {
  const [width, height, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]];
  if (type !== RGB) throw new Error(`a PNG of type ${type}: only type ${RGB} is understood`);
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return { width, height, pixels: unfilter(inflateSync(Buffer.concat(data)), width * 3, height) };
}

/** PNG specification, section 9. */
function unfilter(lines: Uint8Array, rowBytes: number, height: number): Uint8Array {
  const pixels = new Uint8Array(rowBytes * height);
  for (let y = 0; y < height; y += 1) {
    const filter = lines[y * (rowBytes + 1)];
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x;
      const left = x < 3 ? 0 : (pixels[at - 3] ?? 0);
      const up = y === 0 ? 0 : (pixels[at - rowBytes] ?? 0);
      const corner = x < 3 || y === 0 ? 0 : (pixels[at - rowBytes - 3] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0;
      pixels[at] = (lines[y * (rowBytes + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return pixels;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
  if ((a ?? 0) <= (b ?? 0) && (a ?? 0) <= (c ?? 0)) return left;
  return (b ?? 0) <= (c ?? 0) ? up : corner;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
