#!lua flags=allow-oom
-- Removes consumers of ended processes. A consumer with pending entries stays, because its entries would be lost with
-- it.
--
-- KEYS[1]: the stream. ARGV: group; the consumer to remove, or '' for all idle consumers; the idle time from which a
-- consumer is removed, in milliseconds.

local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
for _, flat in ipairs(consumers) do -- empty when the stream or its group does not exist
  local consumer = {}
  for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
  local gone = consumer.name == ARGV[2] or (ARGV[2] == '' and consumer.idle >= tonumber(ARGV[3]))
  if gone and consumer.pending == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name) end
end
return 'done'
