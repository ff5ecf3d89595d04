// The scripts that run in Redis, each atomically. All keys are passed in, so that a Redis user can be limited to them.
import { MAX_REGISTRY_CHANGES } from "../../protocol/limits.ts";

export type Script = { readonly name: string; readonly text: string };

/** Runs a script. Rejects if that cannot be done in time. */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  values: readonly string[],
) => Promise<unknown>;

/** The keys in Redis. */
export const REGISTRY_KEYS = {
  /** Text: the instance id of all HQs of this registry, and a proof that they have the same secret. */
  instance: "ttyhq:instance",
  /** Number: goes up by one with each change. */
  revision: "ttyhq:revision",
  /** Stream of changes, `REVISION-0` → tables, the changes as COMMIT has them; or message, of SEND. */
  changes: "ttyhq:changes",
  /** Hashes of sealed entries: remotes by name, join tokens by hash, keys of remotes by name, logins and share links by id. */
  remotes: "ttyhq:remotes-by-name",
  tokens: "ttyhq:join-tokens",
  keys: "ttyhq:remote-keys",
  records: "ttyhq:records",
  /** For each kind, as `:KIND`, a hash: hash of a ticket → its sealed content; and a sorted set: by its end in ms. */
  tickets: "ttyhq:tickets",
  ticketTimes: "ttyhq:tickets:times",
  /** Stream of sealed failed logins. */
  failures: "ttyhq:failed-logins",
  /** For each kind, as `:KIND`, a hash: hash of a caller → calls in the minute that `minute` has. */
  calls: "ttyhq:calls",
  /** Stream of sealed lines of all audit logs. */
  audit: "ttyhq:audit",
  /** Text: the replica that may remove remotes, or `!REPLICA`: any other replica may. */
  lease: "ttyhq:probe",
  /** Sorted set: replicas by the time of their last health check in seconds. */
  replicas: "ttyhq:replicas",
} as const;

const CHANGE = `
local function revision() return tonumber(redis.call('GET', KEYS[1]) or '0') end
local function change(...)
  local now = redis.call('INCR', KEYS[1])
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MAX_REGISTRY_CHANGES}, now .. '-0', ...)
  return now
end
`;

/** revision → its value. Fails where Redis refuses to write. */
export const REVISION: Script = {
  name: "revision",
  text: `
redis.call('SETNX', KEYS[1], 0)
return tonumber(redis.call('GET', KEYS[1]))
`,
};

/** hash; id → text, or nothing. */
export const FIND: Script = { name: "find", text: "return redis.call('HGET', KEYS[1], ARGV[1])" };

/** hash → {id, text, …}. */
export const FIND_ALL: Script = { name: "find all", text: "return redis.call('HGETALL', KEYS[1])" };

/**
 * revision, changes, instance, remotes, records; the instance where there is none → {revision, instance, {id, text, …}, {…}}.
 * Continues after the last change if Redis has evicted the revision alone.
 */
export const READ: Script = {
  name: "read",
  text: `${CHANGE}
redis.call('SET', KEYS[3], ARGV[1], 'NX')
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local at = last and tonumber(string.match(last[1], '%d+')) or 0
if revision() < at then redis.call('SET', KEYS[1], at) end
return { revision(), redis.call('GET', KEYS[3]), redis.call('HGETALL', KEYS[4]), redis.call('HGETALL', KEYS[5]) }
`,
};

/**
 * revision, changes, tables; as JSON, of each change the number of its table, the id, and the text before and after, ""
 * for none → {revision, 1}, or {revision, 0} if an entry is not as it was before. Fails, and makes no change, if Redis has
 * evicted the remotes, which the HQs know from its changes alone, or the revision.
 */
export const COMMIT: Script = {
  name: "commit",
  text: `${CHANGE}
local all = cjson.decode(ARGV[1])
for _, each in ipairs(all) do
  if (redis.call('HGET', KEYS[each[1] + 2], each[2]) or '') ~= each[3] then
    if each[1] == 1 and each[3] ~= '' and redis.call('EXISTS', KEYS[3]) == 0 then
      return redis.error_reply('ERR the remotes were lost')
    end
    return { revision(), 0 }
  end
end
local now = change('tables', ARGV[1])
for _, each in ipairs(all) do
  if each[4] == '' then redis.call('HDEL', KEYS[each[1] + 2], each[2])
  else redis.call('HSET', KEYS[each[1] + 2], each[2], each[4]) end
end
return { now, 1 }
`,
};

/** revision, changes; a text that all HQs receive → {revision}. */
export const SEND: Script = { name: "send", text: `${CHANGE}return { change('message', ARGV[1]) }` };

/** lease, replicas; replica, ms, seconds that a replica counts without a health check → "own", "passed" or "other". */
export const TAKE: Script = {
  name: "take",
  text: `
local me = ARGV[1]
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[2], now, me)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[3]))
local held = redis.call('GET', KEYS[1])
local isPassed = held and string.sub(held, 1, 1) == '!'
if held and held ~= me and (not isPassed or held == '!' .. me) then return 'other' end
redis.call('SET', KEYS[1], me, 'PX', ARGV[2])
return isPassed and 'passed' or 'own'
`,
};

/** lease, replicas; replica, ms → 1 if there is another replica to take it. */
export const PASS: Script = {
  name: "pass",
  text: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('ZCARD', KEYS[2]) < 2 then return 0 end
redis.call('SET', KEYS[1], '!' .. ARGV[1], 'PX', ARGV[2])
return 1
`,
};

/** lease, replicas; replica. */
export const LEAVE: Script = {
  name: "leave",
  text: `
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`,
};

const TICKETS = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function forget(tickets)
  for _, hash in ipairs(tickets) do
    redis.call('HDEL', KEYS[1], hash)
    redis.call('ZREM', KEYS[2], hash)
  end
end
forget(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 100))
`;

/** tickets, times; hash, sealed, ms, maximum number → 1. */
export const PUT_TICKET: Script = {
  name: "put ticket",
  text: `${TICKETS}
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
local beyond = redis.call('ZCARD', KEYS[2]) - ARGV[4]
if beyond > 0 then forget(redis.call('ZRANGE', KEYS[2], 0, beyond - 1)) end
return 1
`,
};

/** tickets, times; hash → sealed content, once; then nothing. */
export const TAKE_TICKET: Script = {
  name: "take ticket",
  text: `${TICKETS}
local endsAt = redis.call('ZSCORE', KEYS[2], ARGV[1])
local sealed = redis.call('HGET', KEYS[1], ARGV[1])
forget({ ARGV[1] })
if endsAt and tonumber(endsAt) > now then return sealed end
return false
`,
};

/** failures; last seen id, ms to keep, maximum number, sealed failures → JSON of the time in ms and those after the id. */
export const SHARE_FAILURES: Script = {
  name: "share failed logins",
  text: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for index = 4, #ARGV do redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'failure', ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local from = ARGV[1]
if from == '-' then from = string.format('%.0f', math.max(0, now - ARGV[2])) end
local failures = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], from, '+')) do
  table.insert(failures, { entry[1], entry[2][2] })
end
return cjson.encode({ now = now, failures = failures })
`,
};

/** lines; maximum number, sealed lines → 1. */
export const APPEND_LINES: Script = {
  name: "append lines",
  text: `
for index = 2, #ARGV do redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'line', ARGV[index]) end
return 1
`,
};

/** lines; id that all come before, or "+", and a number → {id, sealed line, …}, newest first. */
export const LINES_BEFORE: Script = {
  name: "lines before",
  text: `
local before = ARGV[1] == '+' and '+' or '(' .. ARGV[1]
local lines = {}
for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], before, '-', 'COUNT', ARGV[2])) do
  table.insert(lines, entry[1])
  table.insert(lines, entry[2][2])
end
return lines
`,
};

/** calls; hash of a caller, its calls, … → {ms left of the minute, calls of the first caller in it, …}. */
export const COUNT_CALLS: Script = {
  name: "count calls",
  text: `
local time = redis.call('TIME')
local minute = string.format('%d', math.floor(time[1] / 60))
if redis.call('HGET', KEYS[1], 'minute') ~= minute then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'minute', minute)
  redis.call('PEXPIRE', KEYS[1], 120000)
end
local answer = { 60000 - time[1] % 60 * 1000 - math.floor(time[2] / 1000) }
for index = 1, #ARGV, 2 do table.insert(answer, redis.call('HINCRBY', KEYS[1], ARGV[index], ARGV[index + 1])) end
return answer
`,
};
