-- Counts the waiting generations of a model, and finds the arrival of the one that expires first. Expired generations do
-- not count even if no sweep has removed them yet: without workers and requests there may be no sweep.
--
-- KEYS  1 waiting-expiry
-- Returns { count, arrival of the first in µs of this server's clock or '', now in ms }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = '(' .. string.format('%d', now)
local first = redis.call('ZRANGEBYSCORE', KEYS[1], alive, '+inf', 'LIMIT', '0', '1')[1]
return { redis.call('ZCOUNT', KEYS[1], alive, '+inf'), first and string.match(first, '^%d+') or '', now }
