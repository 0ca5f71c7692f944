-- Ends a generation in one step: marks its record as settled, stores the usage and corrects the account's place in the
-- fair order. The first settlement wins. A gateway's settlement is always appended for billing, because only billing can
-- check its proof: any process with the right to write the record could have marked it as settled. Billing counts an id
-- once.
--
-- KEYS  1 record
-- ARGV  1 prefix   2 id   3 epoch   4 role: 'gateway' or 'worker'   5 the worker that settles, or ''   6 outcome
--       7 prompt tokens   8 cached tokens   9 completion tokens   10 by (boot id)   11 receipt, or ''
--       12 the `traceparent` of the generation's trace, or ''   13 how long it waited and ran (`encodeTiming`), or ''
--       14 what the generation costs in the fair order beyond its tokens; absent: nothing
-- Returns { status, worker to stop or '', 1 if the generation was waiting else 0 }. The status is one of:
--   recorded   this call has settled the generation
--   settled    an earlier call has settled it; the other fields are as in that call's answer
--   stale      the call is for an epoch before the record's, or this worker has not claimed the generation
--
-- A gateway's epoch may be higher than the record's, because a gateway raises its own epoch before it enqueues. A gateway
-- may settle a generation whose record was lost or has expired. A worker settles only a generation that it has claimed in
-- this epoch, free of charge.
local id, epoch, role, settler = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local usage = { ARGV[7], ARGV[8], ARGV[9] }

local state = call('HMGET', KEYS[1], 'epoch', 'settled', 'worker', 'tag', 'account', 'weight', 'cost', 'fixed', 'gateway')
local recorded, worker = tonumber(state[1] or 0), state[3] or nil
local waited = state[4] and not worker
local answer = { 'recorded', worker or '', waited and 1 or 0 }
if role == 'gateway' then append_settlement(id, epoch, ARGV[6], usage, ARGV[10], ARGV[11], ARGV[12], ARGV[13]) end
if state[2] then
  answer[1] = 'settled'
  return answer
end
if role == 'worker' and (recorded ~= epoch or worker ~= settler) then return { 'stale', '', 0 } end
if epoch < recorded then return { 'stale', '', 0 } end

if waited then leave_waiting(recorded_member(id)) end
if state[5] then
  local used = ARGV[7] + ARGV[9] + (ARGV[14] or 0)
  if used > 0 then used = used + state[8] end
  charge_used(state[5], tonumber(state[4]), state[6], tonumber(state[7]), used)
end
if role == 'worker' then leave_orphan(id, epoch, state[9], ARGV[10], ARGV[13]) end
end_generation(id, epoch, ARGV[6], usage)
return answer
