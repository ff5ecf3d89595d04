import type { DiskCare } from "../../lib/fs/disk-care.ts";
import type { Session } from "../session.ts";
import type { SessionMeter } from "../session-meter.ts";
import { Journal } from "./journal.ts";

/** Creates the journal of a new session. `onChange`: its recording has stopped or continues. */
export async function openJournal(
  session: Session,
  options: {
    readonly maxRecordingBytes: number;
    readonly care: Pick<DiskCare, "failed">;
    readonly meter: Pick<SessionMeter, "ofJournal">;
    readonly log: { warn(fields: object, message: string): void };
    readonly onPressure: (isHigh: boolean) => void;
    readonly onChange: () => void;
  },
): Promise<Journal> {
  const { maxRecordingBytes: maxBytes, care, meter, log, onPressure, onChange } = options;
  const { files, id, key } = session;
  const retry = async (): Promise<void> => {
    await session.journal?.retry();
    onChange();
  };
  const journalOptions = meter.ofJournal({
    ...{ files, maxBytes, onPressure },
    onFailure: (error) => {
      care.failed(`${key} journal`, error, retry);
      onChange();
    },
    onGap: (gap) => log.warn({ session: id, ...gap }, "recording has a gap"),
  });
  return await Journal.create(journalOptions);
}
