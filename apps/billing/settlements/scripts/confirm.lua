#!lua flags=allow-oom
-- Stores that the database has recorded an observation, and how far the stream is committed (the mark). Allowed when
-- memory is full, because the values are replaced.
--
-- A mark may also fall, because the server's clock may go back: a mark that could not fall would then be too high. A
-- mark that is too low is safe: its readers only repeat a settlement.
--
-- KEYS: key of the confirmed time, key of the mark. ARGV: the time of the observation, Unix milliseconds, or '' when it
-- is stored already; the mark, or '' when it is not known or stored already.

if ARGV[1] ~= '' then redis.call('SET', KEYS[1], ARGV[1]) end
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2]) end
return 'done'
