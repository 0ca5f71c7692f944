#!lua flags=allow-oom
-- Gives a settlement stream another incarnation (`observe.lua`), unless its incarnation already differs from the given
-- incarnation.
--
-- KEYS: state. ARGV: the incarnation that lost entries, a random word.

if redis.call('HGET', KEYS[1], 'incarnation') == ARGV[1] then redis.call('HSET', KEYS[1], 'incarnation', ARGV[2]) end
return 'done'
