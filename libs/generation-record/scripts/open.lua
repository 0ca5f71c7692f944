#!lua
-- Creates a generation's record and its place among the waiting. Runs before the ticket is added.
--
-- KEYS  1 record   2 waiting   3 expiry   4 promised   5 promises   6 prompt (side key)
-- ARGV  1 id   2 tag   3 job (JSON)   4 Unix ms at which the record is dropped
--       5 the request, compressed, or '' when the job carries it
-- Returns { 'opened' }, or what a record that is already there says (a repeated call, or a tombstone that
-- `cancel` left because this call's outcome was unknown for too long):
--   { 'waiting' }   { 'claimed', worker }   { 'settled' }
local record, waiting, expiry, promised, promises, prompt = unpack(KEYS)
local id, tag, job, expire_at, request = unpack(ARGV)

redis.call('ZREM', promised, id)
redis.call('ZREM', promises, id)
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
