-- The common beginning of every script that changes records: helpers for numbers, for removing a generation from the
-- waiting ones, and for ending a generation.
--
-- ARGV[1] is the prefix of the model's keys, `mr2:cell:{model}:`. All key names begin with it, so all keys share a slot:
--   g:<id>            hash    the record: epoch, requirements, tag, arrival, cost, weight, fixed, bytes, account (as it waits
--                             or has waited), gateway, stream, deadline (Redis ms); worker and nonce once claimed;
--                             settled and usage at the end; seats and home (`seats.lua`); passed (`claim.lua`)
--   j: p: i:<id>      string  job, large request, ids
--   n:<nonce>         string  the id of the generation that the claim with this nonce received, for four minutes
--   requirements             set     all requirements with which a generation waits
--   waiting:<requirements>   zset    member → tag; a member begins with its arrival, so equal tags are served in that order
--   home:<worker>     zset    member → tag of the generations whose home is this worker; also some that do not wait any more
--   homes             string  exists for ten minutes after an enqueue has given a home; without it no generation has one
--   waiting-expiry    zset    member → Redis ms
--   waiting-sums      hash    account → bytes, cost and number of its waiting generations, separated by spaces; '' → of
--                             all
--   finish            zset    account → the tag at which the account has used its share; '' → the virtual time: the tag up
--                             to which the model has served, which is the highest tag that was the lowest at a claim
--   orphans           list    what a worker ended for a dead gateway: `name=value` lines, for billing (`observe.lua`)
-- A member is arrival, cost, weight, bytes, requirements, account and id, each on a line of its own, so that a member can be
-- removed without its record.
-- Values stay below 64 bytes, so that Redis stores a record compactly.
--
-- Costs are whole tokens. A tag is tokens divided by weight. Tags only grow, but a double needs no new start: at a
-- million tokens per second and model it counts single tokens for 285 years.
local SWEPT_AT_MOST, SETTLED_MS, FIRST_TAG, ORPHANS_AT_MOST, ORPHAN_MS = 64, 60000, 1, 10000, 3600000
local call, prefix = redis.call, ARGV[1]
local requirements_key, expiry_key, sums_key = prefix .. 'requirements', prefix .. 'waiting-expiry', prefix .. 'waiting-sums'
local finish_key, VIRTUAL = prefix .. 'finish', ''

-- Redis writes a Lua number with 17 digits, which takes as long as a command, so integers are passed on as text.
local function integer(number)
  return string.format('%d', number)
end

-- Lua's own conversion keeps 14 digits; a double needs 17.
local function exact(number)
  return string.format('%.17g', number)
end

local function to_member(id, requirements, arrival, cost, weight, bytes, account)
  return table.concat({ arrival, cost, weight, bytes, requirements, account, id }, '\n')
end

-- Returns the arguments of leave_waiting.
local function recorded_member(id)
  local parts = call('HMGET', prefix .. 'g:' .. id, 'requirements', 'arrival', 'cost', 'weight', 'bytes', 'account')
  return to_member(id, unpack(parts)), parts[1], parts[3], parts[5], parts[6]
end

local function read_member(member)
  local arrival, cost, weight, bytes, requirements, account, id =
    string.match(member, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  return id, requirements, cost, weight, bytes, account
end

local function read_id(member)
  return string.match(member, '[^\n]*$')
end

local function to_sums(text)
  if not text then return { bytes = 0, cost = 0, count = 0 } end
  local bytes, cost, count = string.match(text, '^(%S+) (%S+) (%S+)$')
  return { bytes = tonumber(bytes), cost = tonumber(cost), count = tonumber(count) }
end

-- Returns the sums of an account's waiting generations, and of all.
local function read_sums(account)
  local texts = call('HMGET', sums_key, account, '')
  return to_sums(texts[1]), to_sums(texts[2])
end

-- Adds a waiting generation to the sums, or with `sign` -1 takes it out.
local function add_to_sums(account, own, all, sign, cost, bytes)
  local changed, ended = {}, {}
  for field, sums in pairs({ [account] = own, [''] = all }) do
    local count = sums.count + sign
    if count > 0 then
      changed[#changed + 1] = field
      changed[#changed + 1] = string.format('%d %d %d', sums.bytes + sign * bytes, sums.cost + sign * cost, count)
    else
      ended[#ended + 1] = field
    end
  end
  if #changed > 0 then call('HSET', sums_key, unpack(changed)) end
  if #ended > 0 then call('HDEL', sums_key, unpack(ended)) end
end

-- Updates the requirements, the expiries and the sums after a member has left its set of requirements. `was_last`: the set is empty.
local function note_left(was_last, member, requirements, cost, bytes, account)
  if was_last then call('SREM', requirements_key, requirements) end
  call('ZREM', expiry_key, member)
  local own, all = read_sums(account)
  add_to_sums(account, own, all, -1, cost, bytes)
end

local function leave_waiting(member, requirements, cost, bytes, account)
  local waiting_key = prefix .. 'waiting:' .. requirements
  if call('ZREM', waiting_key, member) == 0 then return end
  note_left(call('EXISTS', waiting_key) == 0, member, requirements, cost, bytes, account)
end

-- Replaces the expected cost of a generation by its used cost, which is 0 if it never ran. The account's next
-- generations come earlier or later by the difference; generations that wait keep their tags. If the account's finish tag
-- is not stored, the virtual time has passed it. It is then stored again if the generation has used more than expected,
-- so much that its own end is above the virtual time.
local function charge_used(account, tag, weight, cost, used)
  if used == cost then return end
  local finish = call('ZADD', finish_key, 'XX', 'INCR', exact((used - cost) / weight), account)
  if finish or used < cost then return end
  local own = tag + used / weight
  if own > tonumber(call('ZSCORE', finish_key, VIRTUAL) or FIRST_TAG) then call('ZADD', finish_key, exact(own), account) end
end

-- Removes generations that have expired while they waited, and returns how many.
local function sweep(now)
  local expired = call('ZRANGEBYSCORE', expiry_key, '-inf', integer(now), 'LIMIT', '0', SWEPT_AT_MOST)
  for _, member in ipairs(expired) do
    local _, requirements, cost, weight, bytes, account = read_member(member)
    leave_waiting(member, requirements, cost, bytes, account)
    charge_used(account, 0, weight, tonumber(cost), 0)
  end
  return #expired
end

-- Appends a gateway's settlement for billing, which decides by the proof in the receipt what it is worth.
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

-- Leaves word that a generation has ended because its gateway is dead, so that billing ends the hold. The receipt is in
-- the job, and proves that the hold belongs to that gateway. Without a receipt the hold ends at its deadline.
local function leave_orphan(id, epoch, gateway, by, timing)
  local receipt = string.match(call('GET', prefix .. 'j:' .. id) or '', '"receipt":"([%w_.-]+)"')
  if not receipt then return end
  local lines = { 'id=' .. id, 'epoch=' .. epoch, 'outcome=fault', 'promptTokens=0', 'cachedTokens=0',
    'completionTokens=0', 'by=' .. by, 'orphanOf=' .. gateway, 'receipt=' .. receipt, timing ~= '' and 'timing=' .. timing }
  call('RPUSH', prefix .. 'orphans', table.concat(lines, '\n', 1, timing ~= '' and 10 or 9))
  call('LTRIM', prefix .. 'orphans', integer(-ORPHANS_AT_MOST), '-1')
  call('PEXPIRE', prefix .. 'orphans', integer(ORPHAN_MS))
end

-- Marks the record as settled, for late calls. An unknown generation gets a settled record as well. The job, the large
-- request and the ids are deleted.
local function end_generation(id, epoch, outcome, usage)
  local record_key = prefix .. 'g:' .. id
  call('HSET', record_key, 'epoch', epoch, 'settled', outcome, 'usage', table.concat(usage, ' '))
  call('PEXPIRE', record_key, SETTLED_MS)
  call('DEL', prefix .. 'j:' .. id, prefix .. 'p:' .. id, prefix .. 'i:' .. id)
end
