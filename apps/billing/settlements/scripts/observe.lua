#!lua flags=no-writes
-- One look at many settlement streams, at one instant.
--
-- KEYS: the streams. ARGV[1]: the consumer group.
-- Returns { seconds, microseconds, run id, streams }; for each key { last generated id, id the group delivered last,
-- smallest pending id or '' }, or an empty list when the stream or its group does not exist.

local function field(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then return flat[i + 1] end
  end
end

local time = redis.call('TIME')
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local streams = {}
for i, key in ipairs(KEYS) do
  streams[i] = {}
  local stream = redis.pcall('XINFO', 'STREAM', key)
  if not stream.err then
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
      if field(group, 'name') == ARGV[1] then
        local pending = redis.call('XPENDING', key, ARGV[1])
        streams[i] = { field(stream, 'last-generated-id'), field(group, 'last-delivered-id'), pending[2] or '' }
      end
    end
  end
end
return { time[1], time[2], run_id, streams }
