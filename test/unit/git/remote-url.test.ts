import { expect, test } from "vitest";
import { gitHubUrl, withoutPassword } from "../../../src/git/worker/answers.ts";

test.each([
  ["https://user:token@example.com/a.git", "https://example.com/a.git"],
  ["https://token@example.com/a.git", "https://example.com/a.git"],
  ["http://a:b:c@example.com:8080/x?y=z@w", "http://example.com:8080/x?y=z@w"],
  ["https://a@b@example.com/x", "https://example.com/x"],
  ["ssh://git:secret@example.com/a", "ssh://git@example.com/a"],
  ["ssh://git@example.com/a", "ssh://git@example.com/a"],
  ["https://example.com/a@b", "https://example.com/a@b"],
  ["git@example.com:a/b.git", "git@example.com:a/b.git"],
  ["/a/b", "/a/b"],
  ["", ""],
])("credentials are removed from %s", (url, shown) => {
  expect(withoutPassword(url)).toBe(shown);
});

test.each([
  ["https://github.com/owner/name.git", "https://github.com/owner/name"],
  ["https://x:y@github.com/owner/name/", "https://github.com/owner/name"],
  ["git@github.com:owner/name.git", "https://github.com/owner/name"],
  ["github.com:owner/na.me", "https://github.com/owner/na.me"],
  ["ssh://git@github.com:22/owner/name.git", "https://github.com/owner/name"],
  ["git://github.com/owner/name", "https://github.com/owner/name"],
])("%s is on GitHub", (url, page) => {
  expect(gitHubUrl(url)).toBe(page);
});

test.each([
  ...["https://example.com/github.com/a/b", "https://github.com.evil.com/a/b", "https://github.com/a"],
  ...["git@notgithub.com:a/b", "https://github.com/a/b/c", "https://github.com/a/<b>", "/github.com/a/b", ""],
])("%s is not", (url) => {
  expect(gitHubUrl(url)).toBeUndefined();
});
