/** The end of a command's help: what one would type, and what for. */
export function examples(...lines: readonly (readonly [command: string, purpose: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const rows = lines.map(([command, purpose]) => `  ${command.padEnd(width)}  ${purpose}`);
  return ["\nExamples:", ...rows].join("\n");
}
