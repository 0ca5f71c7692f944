#!lua flags=allow-oom
-- Lets the group read a stream again, because the database went back in time. Deletes the confirmed time, so that the
-- stream is read again only once. Also deletes the mark, which is no longer true.
--
-- KEYS: stream, key of the confirmed time, key of the mark. ARGV: group, the confirmed time that was observed, the id
-- after which the group reads.
-- Returns 1, or 0 when another replica has done it.

if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], ARGV[3])
redis.call('DEL', KEYS[2], KEYS[3])
return 1
