-- Gives a worker the generation with the lowest tag, among the waiting generations that it serves. Only this script
-- decides which worker runs a generation.
--
-- KEYS  1 requirements
-- ARGV  1 prefix   2 worker   3 nonce   4 features that it serves, separated by spaces   5 its context window
--       6 by (boot id)   7… gateways that are buried
-- Returns { 'claimed', id, epoch, job or '', gateway, stream, ms until the deadline, how many more generations wait that
--           the worker may claim, ms since the generation began to wait in this epoch, how many sets of requirements wait that the
--           worker does not serve }
--         { 'nothing', how many sets of requirements wait that the worker does not serve }   also if an operator has paused the queue
--         { 'again' }   the call has removed as many generations as it may, of buried gateways or expired: call again
--
-- A nonce gets one generation. A repeated claim with the same nonce gets the same generation while the worker still
-- runs it in the same epoch, and nothing afterwards. A nonce is remembered for four minutes, far longer than a worker
-- repeats a claim. Each nonce has a key of its own: one hash of all nonces would expire as a whole, and Redis would
-- delete tens of thousands of fields in one step.
--
-- A claim takes
-- 1. the first generation in the fair order whose home is this worker (`seats.lua`), even if others are before it;
-- 2. else, of the first LOOKED_AT generations in the fair order, the first one that is free: that has no home, or has waited
--    for its home long enough. If all of them wait for other workers, and more may follow, the claim takes the first one.
--
-- Rule 1 overtakes the free generations that are before the taken one, but not by far. The first of these
-- - is overtaken by at most MOST_PASSED claims, which its record counts (`passed`);
-- - is overtaken only by a generation that has waited at least half as long. So at full load overtaking makes a wait at most
--   twice as long as it would be in the fair order;
-- - while generations of other accounts wait, is overtaken only by a generation whose tag is at most OVERTAKEN times that
--   generation's own step (cost / weight) behind.
-- A claim moves the virtual time to the lowest tag that waits. So overtaking changes the place of no other generation.
--
-- So that a repeated claim does not keep Redis busy, the caller reads the large request and the ids by itself, and the
-- answer to a repeated claim does not count the other waiting generations.
local NONCE_MS, LOOKED_AT, OVERTAKEN, MOST_PASSED, LONGEST_HELD_MS = '240000', 16, 8, 16, 2000
local worker, nonce, by = ARGV[2], ARGV[3], ARGV[6]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function read_record(id)
  local values = call('HMGET', prefix .. 'g:' .. id, 'epoch', 'gateway', 'stream', 'deadline', 'settled', 'worker', 'nonce',
    'arrival', 'seats', 'home')
  return { epoch = values[1], gateway = values[2], stream = values[3], deadline = values[4], settled = values[5],
    worker = values[6], nonce = values[7], arrival = values[8], seats = values[9], home = values[10] }
end

local function waited_ms(record)
  return math.max(0, now - math.floor(record.arrival / 1000))
end

local function claimed(id, record, more, unserved)
  return { 'claimed', id, tonumber(record.epoch), call('GET', prefix .. 'j:' .. id) or '', record.gateway,
    tonumber(record.stream), record.deadline - now, more, waited_ms(record), unserved }
end

local nonce_key = prefix .. 'n:' .. nonce
local known = call('GET', nonce_key)
if known then
  local record = read_record(known)
  if record.settled or record.worker ~= worker or record.nonce ~= nonce then return { 'nothing', 0 } end
  return claimed(known, record, 0, 0)
end

-- BullMQ keeps the pause in the queue's hash `meta`.
if call('HEXISTS', prefix .. 'generations:meta', 'paused') == 1 then return { 'nothing', 0 } end

local features, window, is_buried = {}, tonumber(ARGV[5]), {}
for word in string.gmatch(ARGV[4], '%S+') do features[word] = true end
for index = 7, #ARGV do is_buried[ARGV[index]] = true end

local function is_served(requirements)
  for word in string.gmatch(requirements, '%S+') do
    local at_least = tonumber(string.match(word, '^window:(%d+)$'))
    if at_least then
      if at_least > window then return false end
    elseif not features[word] then
      return false
    end
  end
  return true
end

local all_requirements, served = call('SMEMBERS', requirements_key), {}
for _, requirements in ipairs(all_requirements) do
  if is_served(requirements) then table.insert(served, prefix .. 'waiting:' .. requirements) end
end

local has_homes = call('EXISTS', homes_key) == 1

local function is_before(a, b)
  return a.tag < b.tag or (a.tag == b.tag and a.member < b.member)
end

-- Returns the first generations that the worker serves, in the fair order.
local function look()
  local seen = {}
  for _, waiting_key in ipairs(served) do
    local read = call('ZRANGE', waiting_key, '0', integer(LOOKED_AT - 1), 'WITHSCORES')
    for index = 1, #read, 2 do
      seen[#seen + 1] = { member = read[index], tag = tonumber(read[index + 1]), key = waiting_key }
    end
  end
  if #served > 1 then
    table.sort(seen, is_before)
    for index = #seen, LOOKED_AT + 1, -1 do seen[index] = nil end
  end
  return seen
end

-- Returns the first generation whose home is this worker. Those that do not wait any more are removed on the way.
local function find_own()
  local home_key = prefix .. 'home:' .. worker
  local read = call('ZRANGE', home_key, '0', integer(LOOKED_AT - 1), 'WITHSCORES')
  for index = 1, #read, 2 do
    local member = read[index]
    local _, requirements = read_member(member)
    local waiting_key = prefix .. 'waiting:' .. requirements
    if not call('ZSCORE', waiting_key, member) then
      call('ZREM', home_key, member)
    elseif is_served(requirements) then
      return { member = member, tag = tonumber(read[index + 1]), key = waiting_key }
    end
  end
end

-- Returns the worker that is the generation's home, or nil, whether the generation waits for it, and how many claims have
-- overtaken it.
local function read_home(member)
  local state = call('HMGET', prefix .. 'g:' .. read_id(member), 'home', 'passed', 'epoch')
  local held_until, home = string.match(state[1] or '', '^(%d+) (.+)$')
  -- After a failover the clock may have gone back.
  local held_ms = (held_until or 0) - now
  -- A generation whose record has expired is not overtaken, so that the claim removes it.
  local passed = state[3] and tonumber(state[2] or 0) or MOST_PASSED
  return home, held_ms > 0 and held_ms <= LONGEST_HELD_MS, passed
end

local function has_waited_us(member)
  return now * 1000 - string.match(member, '^%d+')
end

local function may_overtake(own, first)
  -- An interrupted generation, whose tag is 0, is overtaken by none.
  if first.tag == 0 or first.passed >= MOST_PASSED then return false end
  if has_waited_us(own.member) < has_waited_us(first.member) / 2 then return false end
  -- The sums have a field for each account with a waiting generation, and one for all.
  if call('HLEN', sums_key) <= 2 then return true end
  local _, _, cost, weight = read_member(own.member)
  return own.tag <= first.tag + OVERTAKEN * cost / weight
end

-- Returns the first free generation of those that were seen, or nil, and the number of those that wait for other workers. Of
-- many, those after the free one are not counted. If the worker has generations of its own (`own`), these do not count as free.
local function find_free(seen, own)
  local free, held = nil, 0
  for _, each in ipairs(seen) do
    local home, is_held, passed = read_home(each.member)
    if is_held and home ~= worker then
      held = held + 1
    elseif not free and (home ~= worker or not own) then
      free, each.passed = each, passed
      if #seen == LOOKED_AT then break end
    end
  end
  if not free and held == LOOKED_AT then return seen[1], held - 1 end
  return free, held
end

-- Takes a generation out of its set. Returns its member, the tag to which the virtual time moves, and how many of the other
-- generations wait for other workers.
local function take()
  if #served == 1 and not has_homes then
    local popped = call('ZPOPMIN', served[1])
    return popped[1], popped[2], 0
  end
  local seen = look()
  if #seen == 0 then return nil end
  local chosen, held = seen[1], 0
  if has_homes then
    local own = find_own()
    chosen, held = find_free(seen, own)
    if own and (not chosen or not chosen.passed or is_before(own, chosen)) then
      chosen = own
    elseif own and may_overtake(own, chosen) then
      call('HINCRBY', prefix .. 'g:' .. read_id(chosen.member), 'passed', '1')
      chosen = own
    end
    if not chosen then return nil end
  end
  call('ZREM', chosen.key, chosen.member)
  return chosen.member, exact(seen[1].tag), held
end

local function count_served()
  local count = 0
  for _, waiting_key in ipairs(served) do count = count + call('ZCARD', waiting_key) end
  return count
end

local function hand_out(id, record, member)
  local home = string.match(record.home or '', ' (.+)$')
  if home then call('ZREM', prefix .. 'home:' .. home, member) end
  call('HSET', prefix .. 'g:' .. id, 'worker', worker, 'nonce', nonce)
  call('SET', nonce_key, id, 'PX', NONCE_MS)
  take_seats(record.seats, worker, now)
end

local function advance_virtual(tag)
  -- A later epoch has the tag 0, which is before the first virtual time.
  if tonumber(tag) > FIRST_TAG then call('ZADD', finish_key, 'GT', tag, VIRTUAL) end
end

for _ = 1, SWEPT_AT_MOST do
  local member, tag, held = take()
  if not member then
    -- Enqueues sweep as well. Without enqueues, the claim that each worker makes every second finds nothing.
    sweep(now)
    return { 'nothing', #all_requirements - #served }
  end
  local id, requirements, cost, weight, bytes, account = read_member(member)
  local record = read_record(id)
  -- If the record of a member does not exist or does not wait, it has expired, and no sweep has removed the member yet.
  local waits = record.epoch and not record.settled and not record.worker
  local runs = waits and not is_buried[record.gateway]
  local more = count_served()
  if runs and more == 0 and #all_requirements == 1 then
    -- Nothing waits any more, whatever its requirements, so the keys that count the waiting generations are deleted as a whole.
    call('DEL', requirements_key, expiry_key, sums_key)
  else
    -- If the worker serves one set only, `more` counts that set.
    local was_last = more == 0 or (#served > 1 and call('EXISTS', prefix .. 'waiting:' .. requirements) == 0)
    note_left(was_last, member, requirements, cost, bytes, account)
  end
  if runs then
    hand_out(id, record, member)
    advance_virtual(tag)
    return claimed(id, record, math.max(0, more - held), #all_requirements - #served)
  end
  if waits then
    local timing = record.epoch == '1' and integer(waited_ms(record)) or ''
    leave_orphan(id, record.epoch, record.gateway, by, timing)
    end_generation(id, record.epoch, 'fault', { 0, 0, 0 })
  end
  charge_used(account, 0, weight, tonumber(cost), 0)
end
return { 'again' }
