#!lua flags=allow-oom
-- Stores the time of the latest observation that the database has recorded. Allowed when memory is full: the values are
-- replaced.
--
-- KEYS: for each stream the key of that time. ARGV[1]: the time of the observation, Unix milliseconds.

for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1]) end
return 'done'
