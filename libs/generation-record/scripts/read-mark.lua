-- Reads billing's mark together with the identity of the server that has it.
--
-- KEYS  1 mark
-- Returns { run id of this server, the mark or '' }
return { string.match(redis.call('INFO', 'server'), 'run_id:(%w+)'), redis.call('GET', KEYS[1]) or '' }
