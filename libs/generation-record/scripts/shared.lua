-- The common beginning of every script that changes records: helpers for numbers, for generations that leave the waiting
-- ones, and for the end of a generation.
--
-- ARGV[1] is the prefix of the model's keys, `mr2:cell:{model}:`. All key names begin with it, so all keys share a slot:
--   g:<id>            hash    the record: epoch, needs, tag, arrival, cost, bytes, account (as it waits or has waited),
--                             gateway, stream, deadline (Redis ms); worker and nonce once claimed; settled and usage
--                             at the end; seats (`seats.lua`)
--   j: p: i:<id>      string  job, large request, ids
--   n:<nonce>         string  the id that its claim received, for four minutes
--   needs             set     all needs with which a generation waits
--   waiting:<needs>   zset    member → tag; a member begins with its arrival, so equal tags are served in that order
--   waiting-expiry    zset    member → Redis ms
--   waiting-bytes     hash    account → bytes; '' → bytes of all
--   virtual           string  the highest tag claimed
--   finish            zset    account → the tag at which its last generation ends
-- A member is arrival, cost, bytes, needs, account and id, each on a line of its own, so that a member can be removed
-- without its record.
-- Values stay below 64 bytes, so that Redis stores a record compactly.
local SWEPT_AT_MOST, SETTLED_MS, FIRST_TAG = 64, 60000, 1
local call, prefix = redis.call, ARGV[1]
local needs_key, expiry_key, bytes_key = prefix .. 'needs', prefix .. 'waiting-expiry', prefix .. 'waiting-bytes'
local virtual_key, finish_key = prefix .. 'virtual', prefix .. 'finish'

-- Redis writes a Lua number with 17 digits, which takes as long as a command, so integers are passed on as text.
local function integer(number)
  return string.format('%d', number)
end

-- Lua's own conversion keeps 14 digits; a double needs 17.
local function exact(number)
  return string.format('%.17g', number)
end

local function virtual_time()
  return tonumber(call('GET', virtual_key) or FIRST_TAG)
end

local function to_member(id, needs, arrival, cost, bytes, account)
  return table.concat({ arrival, cost, bytes, needs, account, id }, '\n')
end

-- Returns the arguments of leave_waiting.
local function recorded_member(id)
  local parts = call('HMGET', prefix .. 'g:' .. id, 'needs', 'arrival', 'cost', 'bytes', 'account')
  return to_member(id, unpack(parts)), parts[1], parts[3], parts[4], parts[5]
end

local function read_member(member)
  local arrival, cost, bytes, needs, account, id =
    string.match(member, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  return id, needs, cost, bytes, account
end

-- Updates the counts after a member has left its set of needs. `unserved`: the generation ends without having run. Then
-- the account's finish tag is lowered, so that generations which were cancelled or expired do not push the account
-- behind the others for ever: an account with nothing waiting is at most one generation late.
local function give_back(unserved, member, needs, cost, bytes, account)
  if call('EXISTS', prefix .. 'waiting:' .. needs) == 0 then call('SREM', needs_key, needs) end
  call('ZREM', expiry_key, member)
  if call('HINCRBY', bytes_key, '', '-' .. bytes) <= 0 then call('HDEL', bytes_key, '') end
  if call('HINCRBY', bytes_key, account, '-' .. bytes) > 0 then return end
  call('HDEL', bytes_key, account)
  if unserved then
    local most = virtual_time() + cost
    if tonumber(call('ZSCORE', finish_key, account) or 0) > most then
      call('ZADD', finish_key, exact(most), account)
    end
  end
end

local function leave_waiting(unserved, member, needs, cost, bytes, account)
  if call('ZREM', prefix .. 'waiting:' .. needs, member) == 0 then return end
  give_back(unserved, member, needs, cost, bytes, account)
end

local function sweep(now)
  for _, member in ipairs(call('ZRANGEBYSCORE', expiry_key, '-inf', integer(now), 'LIMIT', '0', SWEPT_AT_MOST)) do
    local _, needs, cost, bytes, account = read_member(member)
    leave_waiting(true, member, needs, cost, bytes, account)
  end
end

-- Appends the settlement's entry for billing.
local function append_settlement(id, epoch, outcome, usage, by, receipt, traceparent, timing)
  local entry = { 'id', id, 'epoch', epoch, 'outcome', outcome, 'promptTokens', usage[1], 'cachedTokens', usage[2],
    'completionTokens', usage[3], 'by', by }
  for name, value in pairs({ receipt = receipt, traceparent = traceparent, timing = timing }) do
    if value ~= '' then
      entry[#entry + 1] = name
      entry[#entry + 1] = value
    end
  end
  call('XADD', prefix .. 'settlements', '*', unpack(entry))
end

-- Marks the record as settled, for late calls, and appends the entry. An unknown generation gets a settled record as
-- well. The job, the large request and the ids are deleted.
local function end_generation(id, epoch, outcome, usage, by, receipt, traceparent, timing)
  local record_key = prefix .. 'g:' .. id
  call('HSET', record_key, 'epoch', epoch, 'settled', outcome, 'usage', table.concat(usage, ' '))
  call('PEXPIRE', record_key, SETTLED_MS)
  call('DEL', prefix .. 'j:' .. id, prefix .. 'p:' .. id, prefix .. 'i:' .. id)
  append_settlement(id, epoch, outcome, usage, by, receipt, traceparent, timing)
end
