#!lua flags=allow-oom
-- Stores that the database has recorded an observation, and how far the stream is committed. Allowed when memory is full:
-- the values are replaced.
--
-- The mark is replaced also by an earlier one. Too low is safe: who reads it repeats a settlement. A mark that could not
-- fall would be too high after the server's clock went back.
--
-- KEYS: key of the confirmed time, key of the mark. ARGV: the time of the observation, Unix milliseconds, or '' when it is
-- stored already; the mark, or '' when nothing new is known.

if ARGV[1] ~= '' then redis.call('SET', KEYS[1], ARGV[1]) end
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2]) end
return 'done'
