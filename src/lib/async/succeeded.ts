/** Whether the promise is fulfilled; its error is dropped. */
export function succeeded(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
