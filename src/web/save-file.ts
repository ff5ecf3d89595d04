/** Saves content as a browser download; `name` is made valid for every system. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  try {
    const link = document.createElement("a");
    link.href = url;
    link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "");
    link.click();
  } finally {
    URL.revokeObjectURL(url);
  }
}
