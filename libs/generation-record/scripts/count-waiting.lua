-- How many generations of a model wait, and since when the first of them by expiry. Those that have expired but were not
-- swept yet do not count: without workers and requests there may be no sweep.
--
-- KEYS  1 waiting-expiry
-- Returns { count, arrival of the first in µs of this server's clock or '', now in ms }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = '(' .. string.format('%d', now)
local first = redis.call('ZRANGEBYSCORE', KEYS[1], alive, '+inf', 'LIMIT', '0', '1')[1]
return { redis.call('ZCOUNT', KEYS[1], alive, '+inf'), first and string.match(first, '^%d+') or '', now }
