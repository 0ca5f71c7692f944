#!lua flags=allow-oom
-- Moves an entry that cannot be settled into the dead-letter stream and acknowledges it. Allowed when memory is full,
-- because an entry that stays would stop the watermark for ever.
--
-- KEYS: stream, dead-letter stream. ARGV: group, entry id, reason, most entries to keep, then the entry's fields.

local copy = { '*', 'entry', ARGV[2], 'reason', ARGV[3] }
for i = 5, #ARGV do copy[#copy + 1] = ARGV[i] end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], unpack(copy))
return redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
