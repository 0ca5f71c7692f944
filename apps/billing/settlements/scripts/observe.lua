#!lua flags=no-writes
-- Observes many settlement streams at one instant.
--
-- KEYS: the streams, then for each the key of the confirmed time. ARGV[1]: the consumer group.
-- Returns { seconds, microseconds, run id, streams }; for each stream { last generated id, id the group delivered last,
-- smallest pending id or '', confirmed time or '', number of entries, oldest id or '' }, or an empty list when the stream
-- or its group does not exist.

local function field(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then return flat[i + 1] end
  end
end

local time = redis.call('TIME')
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local streams = {}
local count = #KEYS / 2
for i = 1, count do
  local key = KEYS[i]
  streams[i] = {}
  local stream = redis.pcall('XINFO', 'STREAM', key)
  if not stream.err then
    local oldest = field(stream, 'first-entry')
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
      if field(group, 'name') == ARGV[1] then
        streams[i] = {
          field(stream, 'last-generated-id'),
          field(group, 'last-delivered-id'),
          redis.call('XPENDING', key, ARGV[1])[2] or '',
          redis.call('GET', KEYS[count + i]) or '',
          tostring(field(stream, 'length')),
          oldest and oldest[1] or '',
        }
      end
    end
  end
end
return { time[1], time[2], run_id, streams }
