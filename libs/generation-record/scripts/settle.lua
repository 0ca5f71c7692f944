#!lua flags=allow-oom
-- Ends a generation: fence, usage and the entry for billing in one step. The first settlement of the current
-- epoch wins; later ones return 'settled'.
--
-- KEYS  1 record   2 waiting   3 expiry   4 settlements   5 prompt (side key)
-- ARGV  1 id   2 epoch   3 outcome   4 prompt tokens   5 cached tokens   6 completion tokens   7 by (boot id)
--       8 receipt, or ''
-- Returns 'recorded' (this call settled it), 'settled' (it was already), or 'stale' (a newer epoch runs it)
--
-- A missing record has expired after deadline and grace. Its settlement is recorded all the same; billing, which is
-- idempotent by id, decides.
local record, waiting, expiry, settlements, prompt = unpack(KEYS)
local id, epoch, outcome, prompt_tokens, cached_tokens, completion_tokens, by, receipt = unpack(ARGV)

local state = redis.call('HMGET', record, 'epoch', 'settled')
if state[2] then return 'settled' end
if state[1] and state[1] ~= epoch then return 'stale' end

if state[1] then
  redis.call('HSET', record, 'settled', outcome, 'usage', prompt_tokens .. ' ' .. cached_tokens .. ' ' .. completion_tokens)
  redis.call('HDEL', record, 'job')
end
redis.call('DEL', prompt)
redis.call('ZREM', waiting, id)
redis.call('ZREM', expiry, id)
local entry = { 'id', id, 'epoch', epoch, 'outcome', outcome, 'promptTokens', prompt_tokens,
  'cachedTokens', cached_tokens, 'completionTokens', completion_tokens, 'by', by }
if receipt ~= '' then
  table.insert(entry, 'receipt')
  table.insert(entry, receipt)
end
redis.call('XADD', settlements, '*', unpack(entry))
return 'recorded'
