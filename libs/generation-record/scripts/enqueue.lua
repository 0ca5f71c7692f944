-- Brings a generation's record to at least the given epoch, and adds the generation to the waiting ones.
--
-- KEYS  1 record
-- ARGV  in the order of the first statement:
--       id, epoch, requirements; tag, or '' in the first enqueue; account, and its weight
--       cost: the expected tokens, plus the fixed cost; fixed: that part of it, which does not depend on the used tokens
--       most_ahead: how many tokens may be ahead; bytes of the account and of the model that may wait
--       ms until the deadline; ms from the deadline to the record's expiry
--       ids, job, and its bytes; gateway, stream
--       place: where the request is: 'inline' in the job, or 'apart'; request: the request apart, or ''
--       taken: seats of the worker that claims the generation, or ''; sought: seats by which to find its home, or ''
--       otherwise: its home if the first enqueue finds no seat, or ''; for how many ms only its home may claim it
-- Returns { 'waiting', tag, ahead, tokens ahead if this call has admitted the generation, else -1, the home that this call
--           has given to the generation, or '', 1 if a seat names the home, else 0 }
--         { 'busy', 'queue' | 'bytes', tokens ahead }   { 'claimed', worker, nonce }   { 'settled' }   { 'superseded' }
--         { 'request' }: call again with the request apart
--
-- A tag is the account's finish tag or the virtual time, whichever is later (start-time fair queueing), so that a flooding
-- account only delays itself. A first enqueue that is admitted advances the finish tag by cost / weight. A settlement
-- corrects the finish tag by the used tokens (`charge_used`). A later epoch has tag 0, before every other tag, because
-- the generation has already waited for its place once. A record that was lost is created again with its old tag.
--
-- If an account has used less than was expected, its finish tag may be below the virtual time. This is a credit:
-- - The account keeps the credit only while generations of it wait, and MOST_CREDIT at most.
-- - It gets the credit back at CATCH_UP times its share at most, because its tags are at least cost / weight / CATCH_UP
--   apart. So an account that is new, and begins at the virtual time, is still the next one.
local FORGOTTEN_AT_MOST, MOST_CREDIT, CATCH_UP = 200, 65536, 4
local _, id, given_epoch, requirements, given_tag, account, weight, cost, fixed, most_ahead, account_bytes, model_bytes,
  remaining_ms, grace_ms, ids, job, bytes, gateway, stream, place, request, taken, sought, otherwise, held_ms = unpack(ARGV)
local record_key, epoch = KEYS[1], tonumber(given_epoch)
local prompt_key, ids_key = prefix .. 'p:' .. id, prefix .. 'i:' .. id

local state = call('HMGET', record_key, 'epoch', 'settled', 'worker', 'nonce', 'tag')
local recorded = tonumber(state[1] or 0)
if state[2] then return { 'settled' } end
if recorded > epoch then return { 'superseded' } end
if recorded == epoch and state[3] then return { 'claimed', state[3], state[4] } end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- If nothing waits, there is nothing to sweep.
local own, all
if recorded == 0 then own, all = read_sums(account) end
if (not all or all.count > 0) and sweep(now) > 0 then own, all = nil, nil end

-- Removes finish tags that are MOST_CREDIT or more below the virtual time. They have no effect any more, so some of them
-- may stay. Each call that adds a finish tag removes up to FORGOTTEN_AT_MOST, so their number does not grow.
local function forget_finished(virtual)
  local passed = math.min(call('ZCOUNT', finish_key, '-inf', exact(virtual - MOST_CREDIT)), FORGOTTEN_AT_MOST)
  if passed > 0 then call('ZREMRANGEBYRANK', finish_key, '0', integer(passed - 1)) end
end

-- Counts the members with a lower tag or with this tag, because equal tags are served in order of arrival. Returns also
-- whether other generations wait with these requirements.
local function count_waiting(tag)
  local count, is_known = 0, false
  for _, waiting in ipairs(call('SMEMBERS', requirements_key)) do
    count = count + call('ZCOUNT', prefix .. 'waiting:' .. waiting, '-inf', exact(tag))
    is_known = is_known or waiting == requirements
  end
  return count, is_known
end

if recorded == epoch and call('ZSCORE', expiry_key, (recorded_member(id))) then
  return { 'waiting', state[5], count_waiting(tonumber(state[5])) - 1, -1, '', 0 }
end

local tag = epoch > 1 and 0 or tonumber(recorded == epoch and state[5] or given_tag)
local is_first = not tag
local start
if is_first then
  local tags = call('ZMSCORE', finish_key, VIRTUAL, account)
  local virtual = tonumber(tags[1] or FIRST_TAG)
  if not tags[2] then forget_finished(virtual) end
  if not own then own, all = read_sums(account) end
  local earliest = own.count > 0 and virtual - MOST_CREDIT or virtual
  start = math.max(earliest, tonumber(tags[2] or earliest))
  tag = math.max(start, virtual + own.cost / weight / CATCH_UP)
end
local ahead, is_known, cost_ahead = 0, false, -1
if not is_first or all.count > 0 then ahead, is_known = count_waiting(tag) end
if is_first then
  -- All generations of the account are ahead. Generations of others that are ahead count with the others' mean cost.
  local others = all.count - own.count
  cost_ahead = own.cost
  if others > 0 then cost_ahead = cost_ahead + (all.cost - own.cost) * math.max(0, ahead - own.count) / others end
  cost_ahead = math.ceil(cost_ahead)
  if cost_ahead > tonumber(most_ahead) then return { 'busy', 'queue', cost_ahead } end
  if own.bytes + bytes > tonumber(account_bytes) or all.bytes + bytes > tonumber(model_bytes) then
    return { 'busy', 'bytes', cost_ahead }
  end
end
if place == 'apart' and request == '' and call('EXISTS', prompt_key) == 0 then return { 'request' } end

if is_first then call('ZADD', finish_key, exact(start + cost / weight), account) end
if recorded > 0 then
  -- The generation may still wait in an earlier epoch.
  leave_waiting(recorded_member(id))
  is_known = false
  call('HDEL', record_key, 'worker', 'nonce', 'home', 'passed')
  call('DEL', ids_key)
end

local deadline = now + remaining_ms
local expire_at = integer(math.max(deadline, now) + grace_ms)
local arrival = string.format('%s%06d', time[1], time[2])
call('HSET', record_key, 'epoch', given_epoch, 'requirements', requirements, 'tag', exact(tag), 'arrival', arrival, 'cost', cost,
  'weight', weight, 'fixed', fixed, 'bytes', bytes, 'account', account, 'gateway', gateway, 'stream', stream,
  'deadline', integer(deadline))
-- A later epoch is at the front of the queue, and any worker may take it at once.
local seat = is_first and find_seat(sought, now) or ''
if taken ~= '' then
  call('HSET', record_key, 'seats', is_first and seat == '' and YOUNG .. ' ' .. taken or taken)
end
local home = seat ~= '' and seat or is_first and otherwise or ''
if home ~= '' then call('HSET', record_key, 'home', integer(now + held_ms) .. ' ' .. home) end
call('PEXPIREAT', record_key, expire_at)
call('SET', prefix .. 'j:' .. id, job, 'PXAT', expire_at)
if ids ~= '' then call('SET', ids_key, ids, 'PXAT', expire_at) end
if request ~= '' then
  call('SET', prompt_key, request, 'PXAT', expire_at)
elseif place == 'apart' then
  call('PEXPIREAT', prompt_key, expire_at)
end

local member = to_member(id, requirements, arrival, cost, weight, bytes, account)
if not is_known then call('SADD', requirements_key, requirements) end
call('ZADD', prefix .. 'waiting:' .. requirements, exact(tag), member)
call('ZADD', expiry_key, expire_at, member)
if home ~= '' then
  local home_key = prefix .. 'home:' .. home
  call('ZADD', home_key, exact(tag), member)
  call('PEXPIRE', home_key, SEAT_MS)
  call('SET', homes_key, '1', 'PX', SEAT_MS)
end
if not is_first then own, all = read_sums(account) end
add_to_sums(account, own, all, 1, cost, bytes)
return { 'waiting', exact(tag), ahead, cost_ahead, home, seat ~= '' and 1 or 0 }
