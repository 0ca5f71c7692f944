-- Brings a generation's record to at least an epoch and puts it among the waiting.
--
-- KEYS  1 record
-- ARGV  1 prefix   2 id   3 epoch   4 needs   5 tag, or '' in the first lift   6 account   7 cost
--       8 how many may be ahead   9 bytes of the account that may wait   10 bytes of the model that may wait
--       11 ms until the deadline   12 ms that the record outlives it   13 ids   14 job   15 bytes   16 gateway
--       17 stream   18 where the request is: 'inline' in the job, or 'apart'   19 the request apart, or ''
--       20 seats that the worker takes which claims it, or ''   21 seats to find, or ''
-- Returns { 'waiting', tag, ahead, the worker of the first seat that was found, or '' }
--         { 'busy', 'queue' | 'bytes', ahead }   { 'claimed', worker, nonce }   { 'settled' }
--         { 'superseded' }            { 'request' }: call again with ARGV[19]
--
-- A tag is the account's finish tag or the virtual time, whichever is later (start-time fair queueing), so that a flooding
-- account only delays itself. Only an admitted first lift moves the finish tag. A later epoch has tag 0, before every
-- other tag, because the generation has had its turn. A record that was lost is created again with its old tag.
local FORGOTTEN_AT_MOST = 200
local record_key = KEYS[1]
local id, epoch, needs, given_tag, account, cost = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local ids, job, bytes, place, request = ARGV[13], ARGV[14], ARGV[15], ARGV[18], ARGV[19]
local taken_seats, seats_to_find = ARGV[20], ARGV[21]
local prompt_key, ids_key = prefix .. 'p:' .. id, prefix .. 'i:' .. id

local state = call('HMGET', record_key, 'epoch', 'settled', 'worker', 'nonce', 'tag')
local recorded = tonumber(state[1] or 0)
if state[2] then return { 'settled' } end
if recorded > epoch then return { 'superseded' } end
if recorded == epoch and state[3] then return { 'claimed', state[3], state[4] } end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
sweep(now)

-- Removes finish tags that the virtual time has passed. They no longer have an effect, so some of them may stay. Each
-- call adds one finish tag and removes up to FORGOTTEN_AT_MOST, so their number does not grow.
local function forget_finished(virtual)
  local passed = math.min(call('ZCOUNT', finish_key, '-inf', exact(virtual)), FORGOTTEN_AT_MOST)
  if passed > 0 then call('ZREMRANGEBYRANK', finish_key, '0', integer(passed - 1)) end
end

-- Members with an equal tag count, because equal tags are served in order of arrival.
local function count_waiting(tag)
  local count = 0
  for _, waiting in ipairs(call('SMEMBERS', needs_key)) do
    count = count + call('ZCOUNT', prefix .. 'waiting:' .. waiting, '-inf', exact(tag))
  end
  return count
end

if recorded == epoch and call('ZSCORE', expiry_key, (recorded_member(id))) then
  call('ZREM', reserved_key, id)
  return { 'waiting', state[5], count_waiting(tonumber(state[5])) - 1, '' }
end

local tag = epoch > 1 and 0 or tonumber(recorded == epoch and state[5] or given_tag)
local is_first = not tag
if is_first then
  local virtual = virtual_time()
  forget_finished(virtual)
  tag = math.max(virtual, tonumber(call('ZSCORE', finish_key, account) or virtual))
end
local ahead = count_waiting(tag)
if is_first then
  if ahead > tonumber(ARGV[8]) then return { 'busy', 'queue', ahead } end
  local waiting_bytes = call('HMGET', bytes_key, account, '')
  if (waiting_bytes[1] or 0) + bytes > tonumber(ARGV[9]) or (waiting_bytes[2] or 0) + bytes > tonumber(ARGV[10]) then
    return { 'busy', 'bytes', ahead }
  end
end
if place == 'apart' and request == '' and call('EXISTS', prompt_key) == 0 then return { 'request' } end

if is_first then call('ZADD', finish_key, exact(tag + cost), account) end
if recorded > 0 then
  -- The generation may still wait in an earlier epoch.
  leave_waiting(false, recorded_member(id))
  call('HDEL', record_key, 'worker', 'nonce')
  call('DEL', ids_key)
end

local deadline = now + ARGV[11]
local expire_at = integer(math.max(deadline, now) + ARGV[12])
local arrival = string.format('%s%06d', time[1], time[2])
call('HSET', record_key, 'epoch', ARGV[3], 'needs', needs, 'tag', exact(tag), 'arrival', arrival, 'cost', cost,
  'bytes', bytes, 'account', account, 'gateway', ARGV[16], 'stream', ARGV[17], 'deadline', integer(deadline))
if taken_seats ~= '' then call('HSET', record_key, 'seats', taken_seats) end
call('PEXPIREAT', record_key, expire_at)
call('SET', prefix .. 'j:' .. id, job, 'PXAT', expire_at)
if ids ~= '' then call('SET', ids_key, ids, 'PXAT', expire_at) end
if request ~= '' then
  call('SET', prompt_key, request, 'PXAT', expire_at)
elseif place == 'apart' then
  call('PEXPIREAT', prompt_key, expire_at)
end

local member = to_member(id, needs, arrival, cost, bytes, account)
call('SADD', needs_key, needs)
call('ZADD', prefix .. 'waiting:' .. needs, exact(tag), member)
call('ZADD', expiry_key, expire_at, member)
call('HINCRBY', bytes_key, account, bytes)
call('HINCRBY', bytes_key, '', bytes)
-- Only the caller of a first lift offers the generation.
local warm_worker = is_first and find_seat(seats_to_find, now) or ''
if warm_worker ~= '' then reserve(id, now) end
return { 'waiting', exact(tag), ahead, warm_worker }
