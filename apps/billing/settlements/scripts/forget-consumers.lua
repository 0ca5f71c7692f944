#!lua flags=allow-oom
-- Removes consumers that will not come back. One with pending entries is never removed: they would be lost with it.
--
-- KEYS: the streams. ARGV: group; the consumer to remove, or '' for all that were idle; for how long, in milliseconds.

for _, key in ipairs(KEYS) do
  local consumers = redis.pcall('XINFO', 'CONSUMERS', key, ARGV[1])
  for _, flat in ipairs(consumers) do -- empty when the stream or its group does not exist
    local consumer = {}
    for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
    local gone = consumer.name == ARGV[2] or (ARGV[2] == '' and consumer.idle >= tonumber(ARGV[3]))
    if gone and consumer.pending == 0 then redis.call('XGROUP', 'DELCONSUMER', key, ARGV[1], consumer.name) end
  end
end
return 'done'
