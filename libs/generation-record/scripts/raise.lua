#!lua flags=allow-oom
-- Opens the next epoch of a generation, before its next ticket is added.
--
-- KEYS  1 record   2 waiting   3 expiry
-- ARGV  1 id   2 the epoch that ended   3 the job with its replaced hold (JSON), or '' to keep it
--       4 Unix ms at which the record is dropped
-- Returns { 'raised', new epoch }, or { reason }: gone | settled | cancelled | stale
--
-- The generation waits at 1, before every fair tag, because it has waited for its turn before.
local record, waiting, expiry = unpack(KEYS)
local id, epoch, job, expire_at = unpack(ARGV)

local state = redis.call('HMGET', record, 'epoch', 'settled', 'cancelled')
if state[2] then return { 'settled' } end
if not state[1] then return { 'gone' } end
if state[3] then return { 'cancelled' } end
if state[1] ~= epoch then return { 'stale' } end

local raised = redis.call('HINCRBY', record, 'epoch', 1)
redis.call('HDEL', record, 'worker')
if job ~= '' then redis.call('HSET', record, 'job', job) end
redis.call('ZADD', waiting, 1, id)
redis.call('ZADD', expiry, expire_at, id)
return { 'raised', raised }
