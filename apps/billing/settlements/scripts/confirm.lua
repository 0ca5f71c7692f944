#!lua flags=allow-oom
-- Notes until when the database has taken our looks at the streams. Allowed when memory is full: nothing grows.
--
-- KEYS: for each stream the key of the note. ARGV[1]: the time of the look, Unix milliseconds.

for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1]) end
return 'done'
