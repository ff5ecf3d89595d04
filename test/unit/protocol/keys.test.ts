import { expect, test } from "vitest";
import { KEY_NAMES, keyBytes } from "../../../src/protocol/keys.ts";
import { hex, toHex } from "./hex.ts";

const KEYS = {
  arrow_up: "1B 5B 41",
  arrow_down: "1B 5B 42",
  arrow_right: "1B 5B 43",
  arrow_left: "1B 5B 44",
  escape: "1B",
  enter: "0D",
  ctrl_enter: "0A",
  shift_enter: "0D 0A",
  backspace: "7F",
  tab: "09",
  shift_tab: "1B 5B 5A",
  home: "1B 5B 48",
  end: "1B 5B 46",
  delete: "1B 5B 33 7E",
  page_up: "1B 5B 35 7E",
  page_down: "1B 5B 36 7E",
  f1: "1B 4F 50",
  f2: "1B 4F 51",
  f3: "1B 4F 52",
  f4: "1B 4F 53",
  f5: "1B 5B 31 35 7E",
  f6: "1B 5B 31 37 7E",
  f7: "1B 5B 31 38 7E",
  f8: "1B 5B 31 39 7E",
  f9: "1B 5B 32 30 7E",
  f10: "1B 5B 32 31 7E",
  f11: "1B 5B 32 33 7E",
  f12: "1B 5B 32 34 7E",
};

test.each(Object.entries(KEYS))("%s sends %s", (name, bytes) => {
  expect(toHex(keyBytes(name) ?? hex("00"))).toBe(bytes);
});

test("there are exactly these 28 keys", () => {
  expect([...KEY_NAMES].sort()).toEqual(Object.keys(KEYS).sort());
  expect(KEY_NAMES).toHaveLength(28);
  for (const name of ["", "f13", "Enter", "enter ", "constructor", "__proto__"]) {
    expect(keyBytes(name)).toBeUndefined();
  }
});

test("the bytes of a key are a new array for every caller", () => {
  keyBytes("enter")?.fill(0);
  expect(keyBytes("enter")).toEqual(hex("0D"));
});
