-- Claims this queue for a database, and renews the claim.
--
-- KEYS: the claim, the id of the queue. ARGV: id of the database, its place for operators, how long a claim lasts (ms),
-- the id that the queue gets if it has none.
-- Returns { id of the queue, the place of another database whose claim has not ended, or '' }.

local claim = redis.call('GET', KEYS[1])
local holder = claim and string.match(claim, '^(%S+) ')
local other = ''
if claim and holder ~= ARGV[1] then
  other = string.match(claim, '^%S+ (.*)$')
else
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], ARGV[4], 'NX')
return { redis.call('GET', KEYS[2]), other }
