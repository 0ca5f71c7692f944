#!lua
-- Hands out a tenant's fair tag (start-time fair queueing) and decides whether its generation may wait.
--
-- KEYS  1 waiting   zset id → tag: what waits
--       2 expiry    zset id → Unix ms after which a waiting id is dropped
--       3 promised  zset id → tag: tags handed out and not yet used
--       4 promises  zset id → Unix ms of the promise
--       5 finish    zset account → the tag at which its last generation ends
--       6 fair      hash: v = virtual time (the highest tag claimed), last = Unix ms of the last tag
-- ARGV  1 id   2 account   3 how many may be ahead   4 the first tag
-- Returns { 1 admitted | 0 refused, tag, how many are ahead }
--
-- A refused tag is not handed out; an unused one dies after 2 s. A tag is the account's own finish or the
-- virtual time, whichever is later, so that a flooding account only delays itself. Tags are BullMQ
-- priorities, clamped at BullMQ's highest. They start anew only when nothing waits and none was handed out for
-- 2 s.
local PROMISE_MS, LAST_TAG, CLEAN_AT_MOST = 2000, 2097151, 200
local waiting, expiry, promised, promises, finish, fair = unpack(KEYS)
local id, account, most_ahead, first_tag = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

for _, dead in ipairs(redis.call('ZRANGEBYSCORE', promises, '-inf', now - PROMISE_MS, 'LIMIT', 0, CLEAN_AT_MOST)) do
  redis.call('ZREM', promised, dead)
  redis.call('ZREM', promises, dead)
end
for _, overdue in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, CLEAN_AT_MOST)) do
  redis.call('ZREM', waiting, overdue)
  redis.call('ZREM', expiry, overdue)
end

local last = tonumber(redis.call('HGET', fair, 'last') or 0)
if now - last > PROMISE_MS and redis.call('ZCARD', waiting) == 0 and redis.call('ZCARD', promised) == 0 then
  redis.call('DEL', fair, finish)
end

local virtual = tonumber(redis.call('HGET', fair, 'v') or first_tag)
redis.call('ZREMRANGEBYSCORE', finish, '-inf', virtual)
local own = tonumber(redis.call('ZSCORE', finish, account) or virtual)
local tag = math.min(math.max(virtual, own), LAST_TAG)

-- Equal tags are served in order of arrival, so those are ahead as well.
local ahead = redis.call('ZCOUNT', waiting, '-inf', tag) + redis.call('ZCOUNT', promised, '-inf', tag)
if ahead > most_ahead then
  return { 0, tag, ahead }
end

redis.call('ZADD', finish, tag + 1, account)
redis.call('ZADD', promised, tag, id)
redis.call('ZADD', promises, now, id)
redis.call('HSET', fair, 'last', now)
return { 1, tag, ahead }
