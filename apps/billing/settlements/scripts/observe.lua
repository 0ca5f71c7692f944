#!lua flags=allow-oom
-- Observes a settlement stream at one instant.
--
-- It writes nothing, and is not declared so: a server that accepts no writes must refuse it. A former master that is now
-- a replica, or that is cut off from its replicas (min-replicas-to-write), would call a stream settled whose latest
-- entries are on the new master.
--
-- KEYS: stream, key of the confirmed time. ARGV[1]: the consumer group.
-- Returns { seconds, microseconds, run id, stream }; stream is { last generated id, id the group delivered last, smallest
-- pending id or '', confirmed time or '', number of entries, oldest id or '' }, or an empty list when the stream or its
-- group does not exist.

local function field(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then return flat[i + 1] end
  end
end

local time = redis.call('TIME')
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local state = {}
local stream = redis.pcall('XINFO', 'STREAM', KEYS[1])
if not stream.err then
  local oldest = field(stream, 'first-entry')
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(group, 'name') == ARGV[1] then
      state = {
        field(stream, 'last-generated-id'),
        field(group, 'last-delivered-id'),
        redis.call('XPENDING', KEYS[1], ARGV[1])[2] or '',
        redis.call('GET', KEYS[2]) or '',
        tostring(field(stream, 'length')),
        oldest and oldest[1] or '',
      }
    end
  end
end
return { time[1], time[2], run_id, state }
