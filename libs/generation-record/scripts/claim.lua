-- Gives a worker the generation with the lowest tag, among the waiting generations that it serves. Only this script
-- decides which worker runs a generation.
--
-- KEYS  1 needs
-- ARGV  1 prefix   2 worker   3 nonce   4 features that it serves, separated by spaces   5 its context window
--       6 by (boot id)   7 '<id> <epoch>' of the generation that was offered to the worker, or ''
--       8… gateways that are buried
-- Returns { 'claimed', id, epoch, job or '', gateway, stream, ms until the deadline, how many more generations wait that
--           the worker serves, ms since the generation began to wait in this epoch }
--         { 'nothing' }   also if the offered generation does not wait in that epoch, if the worker does not serve it, or if
--           an operator has paused the queue
--         { 'later' }   the offered generation may not be taken before other accounts' generations yet
--         { 'again' }   the call has removed as many generations as it may, of buried gateways or expired: call again
--
-- A nonce gets one generation. A repeated claim with the same nonce gets the same generation while the worker still
-- runs it in the same epoch, and nothing afterwards. A nonce is remembered for four minutes, far longer than a worker
-- repeats a claim. Each nonce has a key of its own: one hash of all nonces would expire as a whole, and Redis would
-- delete tens of thousands of fields in one step.
--
-- A reserved generation is passed over, because its gateway offers it to a worker or ends the reservation. But if a set
-- begins with more than SKIPPED_AT_MOST reserved generations, the first of these is not passed over. A worker's first
-- generation is the generation that the worker gets without an offer.
--
-- An offered generation may be claimed out of the fair order, but not by far: while generations of other accounts wait,
-- its tag is at most OVERTAKEN times its own step (cost / weight) behind the tag of the worker's first generation. The
-- claim moves the virtual time no further than to the tag of the worker's first generation that still waits. The claim
-- of that generation would move the virtual time as far, so the place of no other generation changes. The claim by
-- offer must move the virtual time that far: if all generations were offered and the virtual time stood still, a new
-- account would begin far before the accounts that have used the engines meanwhile.
--
-- So that a repeated claim does not keep Redis busy, the caller reads the large request and the ids by itself, and the
-- answer to a repeated claim does not count the other waiting generations.
local NONCE_MS, OVERTAKEN, SKIPPED_AT_MOST = '240000', 4, 16
local worker, nonce, by, offered = ARGV[2], ARGV[3], ARGV[6], ARGV[7]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function read_record(id)
  local values = call('HMGET', prefix .. 'g:' .. id, 'epoch', 'gateway', 'stream', 'deadline', 'settled', 'worker', 'nonce',
    'arrival', 'seats')
  return { epoch = values[1], gateway = values[2], stream = values[3], deadline = values[4], settled = values[5],
    worker = values[6], nonce = values[7], arrival = values[8], seats = values[9] }
end

local function waited_ms(record)
  return math.max(0, now - math.floor(record.arrival / 1000))
end

local function claimed(id, record, more)
  return { 'claimed', id, tonumber(record.epoch), call('GET', prefix .. 'j:' .. id) or '', record.gateway,
    tonumber(record.stream), record.deadline - now, more, waited_ms(record) }
end

local nonce_key = prefix .. 'n:' .. nonce
local known = call('GET', nonce_key)
if known then
  local record = read_record(known)
  if record.settled or record.worker ~= worker or record.nonce ~= nonce then return { 'nothing' } end
  return claimed(known, record, 0)
end

sweep(now)

local features, window, is_buried = {}, tonumber(ARGV[5]), {}
for word in string.gmatch(ARGV[4], '%S+') do features[word] = true end
for index = 8, #ARGV do is_buried[ARGV[index]] = true end

local function is_served(needs)
  for word in string.gmatch(needs, '%S+') do
    local at_least = tonumber(string.match(word, '^window:(%d+)$'))
    if at_least then
      if at_least > window then return false end
    elseif not features[word] then
      return false
    end
  end
  return true
end

local all_needs, served = call('SMEMBERS', needs_key), {}
for _, needs in ipairs(all_needs) do
  if is_served(needs) then table.insert(served, prefix .. 'waiting:' .. needs) end
end

local reserved = count_reserved(now)

-- Returns the first member of a set that is not reserved, and its tag. If all members that are read are reserved, and more
-- may follow, the first one is returned.
local function find_first_of(waiting_key)
  if reserved == 0 then return unpack(call('ZRANGE', waiting_key, '0', '0', 'WITHSCORES')) end
  local passed = math.min(reserved, SKIPPED_AT_MOST)
  local read = call('ZRANGE', waiting_key, '0', integer(passed), 'WITHSCORES')
  if #read == 0 then return nil end
  local ids = {}
  for index = 1, #read, 2 do ids[#ids + 1] = read_id(read[index]) end
  for index, is_one in ipairs(are_reserved(ids, now)) do
    if not is_one then return read[2 * index - 1], read[2 * index] end
  end
  if #ids > passed then return read[1], read[2] end
end

-- Returns the worker's first generation: its member, its tag and its set.
local function find_first()
  local first, first_tag, first_key
  for _, waiting_key in ipairs(served) do
    local member, tag = find_first_of(waiting_key)
    tag = tonumber(tag)
    if member and (not first or tag < first_tag or (tag == first_tag and member < first)) then
      first, first_tag, first_key = member, tag, waiting_key
    end
  end
  return first, first_tag, first_key
end

-- Takes the first generation out of its set; returns its member and its tag.
local function take_first()
  if #served == 1 and reserved == 0 then return unpack(call('ZPOPMIN', served[1])) end
  local first, first_tag, first_key = find_first()
  if first then call('ZREM', first_key, first) end
  return first, first_tag and exact(first_tag)
end

local function count_served()
  local count = 0
  for _, waiting_key in ipairs(served) do count = count + call('ZCARD', waiting_key) end
  return count
end

-- Returns how many of `more` waiting generations the worker may claim without an offer. With several needs, `reserved`
-- also counts generations that the worker does not serve, so the number may be too small while they are reserved.
local function count_claimable(more)
  return math.max(0, more - reserved)
end

local function hand_out(id, record)
  call('HSET', prefix .. 'g:' .. id, 'worker', worker, 'nonce', nonce)
  call('SET', nonce_key, id, 'PX', NONCE_MS)
  if reserved > 0 then reserved = reserved - call('ZREM', reserved_key, id) end
  take_seats(record.seats, worker, now)
end

local function advance_virtual(tag)
  if tonumber(tag) > virtual_time() then call('SET', virtual_key, tag) end
end

-- A worker without an offer gets no job of a paused queue. It notices the pause itself a second later at most. BullMQ keeps
-- the pause in the queue's hash `meta`.
local function is_paused()
  return call('HEXISTS', prefix .. 'generations:meta', 'paused') == 1
end

local function claim_offered()
  if is_paused() then return { 'nothing' } end
  local id, epoch = string.match(offered, '^(%S+) (%d+)$')
  local record = read_record(id)
  if record.epoch ~= epoch or record.settled or record.worker or is_buried[record.gateway] then return { 'nothing' } end
  local member, needs, cost, bytes, account = recorded_member(id)
  local tag = tonumber(call('ZSCORE', prefix .. 'waiting:' .. needs, member))
  if not tag or not is_served(needs) then return { 'nothing' } end
  local _, _, _, weight = read_member(member)
  local first, first_tag = find_first()
  -- The sums have a field for each account with a waiting generation, and one for all.
  local is_alone = call('HLEN', sums_key) <= 2
  if first and not is_alone and tag > first_tag + OVERTAKEN * cost / weight then return { 'later' } end
  leave_waiting(member, needs, cost, bytes, account)
  hand_out(id, record)
  if first == member then _, first_tag = find_first() end
  advance_virtual(exact(math.min(tag, first_tag or tag)))
  return claimed(id, record, count_claimable(count_served()))
end

if offered ~= '' then return claim_offered() end

for _ = 1, SWEPT_AT_MOST do
  local member, tag = take_first()
  if not member then return { 'nothing' } end
  local id, needs, cost, weight, bytes, account = read_member(member)
  local record = read_record(id)
  -- If the record of a member does not exist or does not wait, it has expired, and no sweep has removed the member yet.
  local waits = record.epoch and not record.settled and not record.worker
  local runs = waits and not is_buried[record.gateway]
  local more = count_served()
  if runs and more == 0 and #all_needs == 1 then
    -- Nothing waits any more, whatever its needs, so the keys that count the waiting generations are deleted as a whole.
    call('DEL', needs_key, expiry_key, sums_key)
  else
    -- If the worker serves one set only, `more` counts that set.
    local was_last = more == 0 or (#served > 1 and call('EXISTS', prefix .. 'waiting:' .. needs) == 0)
    note_left(was_last, member, needs, cost, bytes, account)
  end
  if runs then
    hand_out(id, record)
    advance_virtual(tag)
    return claimed(id, record, count_claimable(more))
  end
  if waits then
    local timing = record.epoch == '1' and integer(waited_ms(record)) or ''
    leave_orphan(id, record.epoch, record.gateway, by, timing)
    end_generation(id, record.epoch, 'fault', { 0, 0, 0 })
  end
  charge_used(account, 0, weight, tonumber(cost), 0)
end
return { 'again' }
