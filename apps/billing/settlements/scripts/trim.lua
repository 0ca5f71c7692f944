#!lua flags=allow-oom
-- Drops entries from the beginning of a settlement stream, and updates its state (`observe.lua`), so that they do not
-- count as lost.
--
-- KEYS: stream, state. ARGV: the id before which entries are dropped; Redis drops only whole nodes of its stream.
-- Returns the number of dropped entries.

local dropped = redis.call('XTRIM', KEYS[1], 'MINID', '~', ARGV[1])
if dropped > 0 and redis.call('EXISTS', KEYS[2]) == 1 then
  local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  redis.call('HINCRBY', KEYS[2], 'removed', dropped)
  redis.call('HSET', KEYS[2], 'first', oldest and oldest[1] or '')
end
return dropped
