#!lua
-- Creates a generation's record and adds it to the waiting set. Runs before the ticket is added.
--
-- KEYS  1 record   2 waiting   3 expiry   4 issued   5 issued_at   6 prompt (side key)
-- ARGV  1 id   2 tag   3 job (JSON)   4 Unix ms at which the record is dropped
--       5 the request, compressed, or '' when the job carries it
-- Returns { 'opened' }, or the state of a record that exists (the call is repeated, or `cancel` left a tombstone
-- because the outcome of this call was unknown for too long):
--   { 'waiting' }   { 'claimed', worker }   { 'settled' }
local record, waiting, expiry, issued, issued_at, prompt = unpack(KEYS)
local id, tag, job, expire_at, request = unpack(ARGV)

redis.call('ZREM', issued, id)
redis.call('ZREM', issued_at, id)
local state = redis.call('HMGET', record, 'epoch', 'settled', 'worker')
if state[2] then return { 'settled' } end
if state[3] then return { 'claimed', state[3] } end
if state[1] then return { 'waiting' } end
redis.call('HSET', record, 'epoch', 1, 'tag', tag, 'job', job)
redis.call('PEXPIREAT', record, expire_at)
if request ~= '' then
  redis.call('SET', prompt, request, 'PXAT', expire_at)
end
redis.call('ZADD', waiting, tag, id)
redis.call('ZADD', expiry, expire_at, id)
return { 'opened' }
