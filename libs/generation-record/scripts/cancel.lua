#!lua flags=allow-oom
-- Cancels a generation: its caller left, or the gateway does not know whether it was enqueued.
--
-- KEYS  1 record   2 waiting   3 expiry   4 settlements   5 prompt (side key)
-- ARGV  1 id   2 by (boot id)   3 Unix ms at which a tombstone is dropped
-- Returns { 'released' }          it never ran and never will; it is settled at 0
--         { 'claimed', worker }   this worker has it; it is marked, and the caller sends the worker a stop
--         { 'settled' }           it ended before
--
-- For an unknown id a settled record is left, a tombstone, for an `open` that is still on its way.
local record, waiting, expiry, settlements, prompt = unpack(KEYS)
local id, by, tombstone_until = unpack(ARGV)

local state = redis.call('HMGET', record, 'settled', 'worker', 'epoch')
if state[1] then return { 'settled' } end
if state[2] then
  redis.call('HSET', record, 'cancelled', 1)
  return { 'claimed', state[2] }
end

redis.call('HSET', record, 'settled', 'never-ran')
if not state[3] then redis.call('PEXPIREAT', record, tombstone_until) end
redis.call('HDEL', record, 'job')
redis.call('DEL', prompt)
redis.call('ZREM', waiting, id)
redis.call('ZREM', expiry, id)
redis.call('XADD', settlements, '*', 'id', id, 'epoch', state[3] or 1, 'outcome', 'never-ran',
  'promptTokens', 0, 'cachedTokens', 0, 'completionTokens', 0, 'by', by)
return { 'released' }
