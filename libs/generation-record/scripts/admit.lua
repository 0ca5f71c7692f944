#!lua
-- Issues an account's fair tag (start-time fair queueing) and decides whether its generation may wait.
--
-- KEYS  1 waiting    zset id → tag: the waiting generations
--       2 expiry     zset id → Unix ms after which a waiting id is dropped
--       3 issued     zset id → tag: tags issued and not yet used
--       4 issued_at  zset id → Unix ms at which the tag was issued
--       5 finish     zset account → the tag at which its last generation ends
--       6 fair       hash: v = virtual time (the highest claimed tag), last = Unix ms of the last tag
-- ARGV  1 id   2 account   3 how many may be ahead   4 the first tag
-- Returns { 1 admitted | 0 refused, tag, how many are ahead }
--
-- A refused tag is not issued; an issued tag expires after 2 s without use. A tag is the account's own finish
-- or the virtual time, whichever is later, so that a flooding account only delays itself. Tags are BullMQ
-- priorities, clamped at BullMQ's highest. They restart at the first tag only when no generation waits and
-- none was issued for 2 s.
local UNUSED_MS, LAST_TAG, CLEAN_AT_MOST = 2000, 2097151, 200
local waiting, expiry, issued, issued_at, finish, fair = unpack(KEYS)
local id, account, most_ahead, first_tag = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

for _, unused in ipairs(redis.call('ZRANGEBYSCORE', issued_at, '-inf', now - UNUSED_MS, 'LIMIT', 0, CLEAN_AT_MOST)) do
  redis.call('ZREM', issued, unused)
  redis.call('ZREM', issued_at, unused)
end
for _, overdue in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, CLEAN_AT_MOST)) do
  redis.call('ZREM', waiting, overdue)
  redis.call('ZREM', expiry, overdue)
end

local last = tonumber(redis.call('HGET', fair, 'last') or 0)
if now - last > UNUSED_MS and redis.call('ZCARD', waiting) == 0 and redis.call('ZCARD', issued) == 0 then
  redis.call('DEL', fair, finish)
end

local virtual = tonumber(redis.call('HGET', fair, 'v') or first_tag)
redis.call('ZREMRANGEBYSCORE', finish, '-inf', virtual)
local own = tonumber(redis.call('ZSCORE', finish, account) or virtual)
local tag = math.min(math.max(virtual, own), LAST_TAG)

-- Equal tags are served in order of arrival, so those count as ahead.
local ahead = redis.call('ZCOUNT', waiting, '-inf', tag) + redis.call('ZCOUNT', issued, '-inf', tag)
if ahead > most_ahead then
  return { 0, tag, ahead }
end

redis.call('ZADD', finish, tag + 1, account)
redis.call('ZADD', issued, tag, id)
redis.call('ZADD', issued_at, now, id)
redis.call('HSET', fair, 'last', now)
return { 1, tag, ahead }
