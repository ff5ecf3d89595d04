import type { ComponentChildren, VNode } from "preact";

type TableProps = {
  readonly label: string;
  readonly headings: readonly string[];
  /** The rows, each a `tr`. */
  readonly children: ComponentChildren;
};

/** Scrolls sideways if it is wider than the view. */
export function Table({ label, headings, children }: TableProps): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
    <section class="table-scroll" aria-label={label} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
