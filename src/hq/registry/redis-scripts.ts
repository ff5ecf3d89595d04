// The scripts that run in Redis, each atomically. All keys are passed in, so that a Redis user can be limited to them.
import {
  DOWN_REMOTE_MEMORY_MS,
  MAX_DOWN_REMOTES,
  MAX_ENDED_RECORDS,
  MAX_REGISTRY_CHANGES,
} from "../../protocol/limits.ts";

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
  /** Hash: id → remote as JSON, its token sealed. */
  remotes: "ttyhq:remotes",
  /** Hash: name → id. */
  names: "ttyhq:names",
  /**
   * Stream of changes, `REVISION-0` → id; remote, empty if it was removed; down, its name if it did not answer. Or →
   * record, an id; sealed, empty if it has ended; expiresAtS.
   */
  changes: "ttyhq:changes",
  /** Sorted set: names of the remotes that are down, by the time of their removal in seconds. */
  down: "ttyhq:down",
  /** Hash: id → a login or share link, sealed. */
  records: "ttyhq:records",
  /** Sorted sets: ids of these records, and of ended ones, by their expiry in seconds. */
  recordTimes: "ttyhq:records:times",
  endedRecords: "ttyhq:records:ended",
  /** For each kind, as `:KIND`, a hash: hash of a ticket → its sealed content; and a sorted set: by its end in ms. */
  tickets: "ttyhq:tickets",
  ticketTimes: "ttyhq:tickets:times",
  /** Text: the replica that may remove remotes, or `!REPLICA`: any other replica may. */
  lease: "ttyhq:probe",
  /** Sorted set: replicas by the time of their last health check in seconds. */
  replicas: "ttyhq:replicas",
} as const;

const DOWN_S = DOWN_REMOTE_MEMORY_MS / 1000;

const CHANGE = `
local function revision() return tonumber(redis.call('GET', KEYS[1]) or '0') end
local function change(id, remote, down)
  local now = redis.call('INCR', KEYS[1])
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MAX_REGISTRY_CHANGES}, now .. '-0',
    'id', id, 'remote', remote, 'down', down)
  return now
end
local function setDown(name)
  redis.call('ZADD', KEYS[5], redis.call('TIME')[1], name)
  redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -${MAX_DOWN_REMOTES + 1})
  redis.call('EXPIRE', KEYS[5], ${DOWN_S})
end
local function freeName(remote, id)
  local name = cjson.decode(remote).name
  if redis.call('HGET', KEYS[4], name) == id then redis.call('HDEL', KEYS[4], name) end
end
`;

/**
 * instance, revision, remotes, down; the instance where there is none → {instance, revision, remotes, remotes that are
 * down, the latest last: {name, seconds since then}, …}.
 */
export const READ: Script = {
  name: "read",
  text: `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local now = tonumber(redis.call('TIME')[1])
local down = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], now - ${DOWN_S}, '+inf')) do
  table.insert(down, { name, now - tonumber(redis.call('ZSCORE', KEYS[4], name)) })
end
return { redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or '0'), redis.call('HVALS', KEYS[3]), down }
`,
};

/** revision → its value. */
export const REVISION: Script = {
  name: "revision",
  text: "return tonumber(redis.call('GET', KEYS[1]) or '0')",
};

/**
 * revision, changes, remotes, names, down; id, name, remote, its heartbeat if it is restored or "" → {revision}, or
 * {revision, remote} with another remote that has the name.
 */
export const PUT: Script = {
  name: "put",
  text: `${CHANGE}
local id, name, remote, restored = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local holder = redis.call('HGET', KEYS[4], name)
local held = holder and holder ~= id and redis.call('HGET', KEYS[3], holder)
if held then return { revision(), held } end
local before = redis.call('HGET', KEYS[3], id)
if before and restored ~= '' and cjson.decode(before).lastHeartbeat > restored then return { revision() } end
local now = change(id, remote, '')
redis.call('ZREM', KEYS[5], name)
if before then freeName(before, id) end
redis.call('HSET', KEYS[3], id, remote)
redis.call('HSET', KEYS[4], name, id)
return { now }
`,
};

/** revision, changes, remotes, names, down; id, the expected remote if it does not answer, or "" → {revision}. */
export const DROP: Script = {
  name: "drop",
  text: `${CHANGE}
local id, expected = ARGV[1], ARGV[2]
local remote = redis.call('HGET', KEYS[3], id)
if not remote or (expected ~= '' and expected ~= remote) then return { revision() } end
local name = expected ~= '' and cjson.decode(remote).name or ''
local now = change(id, '', name)
if name ~= '' then setDown(name) end
redis.call('HDEL', KEYS[3], id)
freeName(remote, id)
return { now }
`,
};

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

const RECORD_CHANGE = `
local function revision() return tonumber(redis.call('GET', KEYS[1]) or '0') end
local function change(id, sealed, expiresAtS)
  local now = redis.call('INCR', KEYS[1])
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MAX_REGISTRY_CHANGES}, now .. '-0',
    'record', id, 'sealed', sealed, 'expiresAtS', expiresAtS)
  return now
end
local function forgetExpired()
  local now = redis.call('TIME')[1]
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, 100)) do
    redis.call('HDEL', KEYS[3], id)
    redis.call('ZREM', KEYS[4], id)
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
  redis.call('ZREMRANGEBYRANK', KEYS[5], 0, -${MAX_ENDED_RECORDS + 1})
end
`;

/** revision, changes, records, times, ended → {revision, records: id, sealed, …, ended: id, seconds, …}. */
export const READ_RECORDS: Script = {
  name: "read records",
  text: `${RECORD_CHANGE}
forgetExpired()
return { revision(), redis.call('HGETALL', KEYS[3]), redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES') }
`,
};

/** records; id → sealed record, or nothing. */
export const FIND_RECORD: Script = {
  name: "find record",
  text: "return redis.call('HGET', KEYS[1], ARGV[1])",
};

/** revision, changes, records, times, ended; id, seconds, sealed → {revision}. An ended record stays ended. */
export const PUT_RECORD: Script = {
  name: "put record",
  text: `${RECORD_CHANGE}
local id, expiresAtS, sealed = ARGV[1], ARGV[2], ARGV[3]
forgetExpired()
if redis.call('ZSCORE', KEYS[5], id) then return { revision() } end
redis.call('HSET', KEYS[3], id, sealed)
redis.call('ZADD', KEYS[4], expiresAtS, id)
return { change(id, sealed, expiresAtS) }
`,
};

/**
 * revision, changes, records, times, ended; id, seconds, sealed, the expected sealed record or "" for none →
 * {revision, 1}, or {revision, 0} if there is another one. An ended record stays ended.
 */
export const REPLACE_RECORD: Script = {
  name: "replace record",
  text: `${RECORD_CHANGE}
local id, expiresAtS, sealed, before = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
forgetExpired()
if redis.call('ZSCORE', KEYS[5], id) then return { revision(), 1 } end
if (redis.call('HGET', KEYS[3], id) or '') ~= before then return { revision(), 0 } end
redis.call('HSET', KEYS[3], id, sealed)
redis.call('ZADD', KEYS[4], expiresAtS, id)
return { change(id, sealed, expiresAtS), 1 }
`,
};

/** revision, changes, records, times, ended; id, seconds → {revision}. */
export const END_RECORD: Script = {
  name: "end record",
  text: `${RECORD_CHANGE}
local id, expiresAtS = ARGV[1], ARGV[2]
forgetExpired()
if redis.call('ZSCORE', KEYS[5], id) then return { revision() } end
redis.call('HDEL', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
redis.call('ZADD', KEYS[5], expiresAtS, id)
return { change(id, '', expiresAtS) }
`,
};

const TICKET_TIME = `
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
  text: `${TICKET_TIME}
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
  text: `${TICKET_TIME}
local endsAt = redis.call('ZSCORE', KEYS[2], ARGV[1])
local sealed = redis.call('HGET', KEYS[1], ARGV[1])
forget({ ARGV[1] })
if endsAt and tonumber(endsAt) > now then return sealed end
return false
`,
};
