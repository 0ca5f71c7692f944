#!lua flags=allow-oom
-- Observes a settlement stream at one instant, and detects lost entries.
--
-- The script has no flag `no-writes`, so that a server which accepts no writes refuses it. Such a server is a former
-- master that is now a replica, or that is cut off from its replicas (min-replicas-to-write). It would report a stream
-- as settled whose latest entries are on the new master.
--
-- The incarnation of a stream is a random word that stays the same while the stream loses no entries. The state has the
-- incarnation and three facts of the last observation: how many entries were ever added, how many of them were removed,
-- and the oldest id. Only `trim.lua` removes entries, and it updates the state. So a stream contradicts its state after
-- it was deleted, even if it was made anew, or after another client removed entries. Then it gets another incarnation.
-- A stream without a state (a new stream, a flushed server) gets its first incarnation.
--
-- Before that, moves orphans to the stream: settlements that workers left for gateways that are dead, each as lines
-- `name=value`. Workers write this list, so any text may be in it, and it may not even be a list.
--
-- KEYS: stream, state, key of the confirmed time, dead letters, orphans. ARGV: the consumer group, a random word.
-- Returns { seconds, microseconds, run id, replication id, incarnation, 1 if entries were lost else 0, number of dead
-- letters, stream }. The replication id changes with each promotion, whereas a master that was a replica for a while keeps
-- its run id. Stream is { last generated id, id the group delivered last, smallest pending id or '', confirmed time or '',
-- number of entries, oldest id or '' }, or an empty list when the stream or its group does not exist.

local ORPHANS_AT_ONCE, LONGEST_ORPHAN = '256', 4096
local orphans = redis.pcall('LPOP', KEYS[5], ORPHANS_AT_ONCE) or {}
for _, orphan in ipairs(orphans) do
  local entry = {}
  for name, value in string.gmatch(string.sub(orphan, 1, LONGEST_ORPHAN), '(%w+)=([^\n]+)') do
    entry[#entry + 1] = name
    entry[#entry + 1] = value
  end
  if #entry > 0 then redis.call('XADD', KEYS[1], '*', unpack(entry)) end
end

local function field(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then return flat[i + 1] end
  end
end

local time = redis.call('TIME')
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
-- A nil in the answer would cut it off, and the watermark would never move.
if not run_id then return redis.error_reply('ERR this server does not report a run_id in INFO: use Redis 7 or later, or Valkey') end
local replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''

local added, length, first = 0, 0, ''
local state = {}
local stream = redis.pcall('XINFO', 'STREAM', KEYS[1])
if not stream.err then
  added, length = field(stream, 'entries-added'), field(stream, 'length')
  local oldest = field(stream, 'first-entry')
  first = oldest and oldest[1] or ''
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(group, 'name') == ARGV[1] then
      state = {
        field(stream, 'last-generated-id'),
        field(group, 'last-delivered-id'),
        redis.call('XPENDING', KEYS[1], ARGV[1])[2] or '',
        redis.call('GET', KEYS[3]) or '',
        tostring(length),
        first,
      }
    end
  end
end

local removed = added - length
local known = redis.call('HMGET', KEYS[2], 'incarnation', 'added', 'removed', 'first')
local incarnation, lost = known[1], 0
if incarnation then
  local is_other = known[4] ~= '' and known[4] ~= first
  if added < tonumber(known[2]) or removed ~= tonumber(known[3]) or is_other then lost = 1 end
end
if not incarnation or lost == 1 then incarnation = ARGV[2] end
local seen = { incarnation, string.format('%d', added), string.format('%d', removed), first }
if table.concat(seen, ' ') ~= table.concat({ known[1] or '', known[2] or '', known[3] or '', known[4] or '' }, ' ') then
  redis.call('HSET', KEYS[2], 'incarnation', seen[1], 'added', seen[2], 'removed', seen[3], 'first', seen[4])
end
return { time[1], time[2], run_id, replication_id, incarnation, lost, redis.call('XLEN', KEYS[4]), state }
