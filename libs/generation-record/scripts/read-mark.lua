-- Reads billing's mark, together with the run id of the server and of its settlement stream.
--
-- KEYS  1 mark   2 state of the stream
-- Returns { run id, the mark or '' }. The run id has three parts: the server's own run id, which changes at a restart; the
-- server's replication id, which changes at each promotion, also of a server that was a master before; and the stream's
-- incarnation, which billing changes when the stream has lost entries.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local replication = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
local incarnation = redis.call('HGET', KEYS[2], 'incarnation') or ''
return { table.concat({ run, replication, incarnation }, ':'), redis.call('GET', KEYS[1]) or '' }
