// A program: git status on a system that lets a user watch only two folders. Prints the status, and the warnings.
import { writeFileSync } from "node:fs";
import { inside, on, StatusRoom } from "./status-room.ts";

// Only for this user namespace.
writeFileSync("/proc/sys/user/max_inotify_watches", "2");
let nowMs = 10_000;
await using place = await StatusRoom.make({ now: () => nowMs });
const repository = await place.room.repository();
using one = await inside(place, repository);
const before = one.status?.gitBranch;
await place.room.git(repository, "switch", "--quiet", "-c", "unseen");
nowMs += 6_000;
place.live.check();
await one.until(on("unseen"), "the branch, once it was asked for");
console.log(JSON.stringify({ before, after: one.status?.gitBranch, warnings: place.warnings }));
