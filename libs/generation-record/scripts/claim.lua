#!lua flags=allow-oom
-- A worker takes a generation out of the waiting set. Only this script decides which worker runs it.
--
-- KEYS  1 record   2 waiting   3 expiry   4 fair   5 prompt (side key)
-- ARGV  1 id   2 epoch of the ticket   3 worker
-- Returns { 'claimed', job, compressed request or '' }, or { reason } with one of
--   gone       there is no record: the generation ended long ago
--   settled    the generation ended, or was cancelled while it waited
--   cancelled  it was cancelled while an earlier worker had it
--   stale      the record has another epoch than the ticket
--   taken      another worker has this epoch
local record, waiting, expiry, fair, prompt = unpack(KEYS)
local id, epoch, worker = unpack(ARGV)

local state = redis.call('HMGET', record, 'epoch', 'settled', 'cancelled', 'worker', 'job', 'tag')
if not state[1] then return { redis.call('EXISTS', record) == 1 and 'settled' or 'gone' } end
if state[2] then return { 'settled' } end
if state[3] then return { 'cancelled' } end
if state[1] ~= epoch then return { 'stale' } end
if state[4] and state[4] ~= worker then return { 'taken' } end

redis.call('HSET', record, 'worker', worker)
redis.call('ZREM', waiting, id)
redis.call('ZREM', expiry, id)
local tag = tonumber(state[6])
if tag > tonumber(redis.call('HGET', fair, 'v') or 0) then
  redis.call('HSET', fair, 'v', tag)
end
return { 'claimed', state[5], redis.call('GET', prompt) or '' }
