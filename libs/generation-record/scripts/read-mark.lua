-- Reads billing's mark together with the identity of the server that has it and of the settlement stream on it.
--
-- KEYS  1 mark   2 state of the stream
-- Returns { run id, the mark or '' }. The run id has three parts: the server's own, which changes with its restart; its
-- replication id, which changes with each promotion, also that of a server which was a master before; and the incarnation
-- of the stream, which billing changes when entries were lost from it.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local replication = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
local incarnation = redis.call('HGET', KEYS[2], 'incarnation') or ''
return { table.concat({ run, replication, incarnation }, ':'), redis.call('GET', KEYS[1]) or '' }
