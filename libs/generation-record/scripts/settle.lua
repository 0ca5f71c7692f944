-- Ends a generation: fence, usage and the entry for billing in one step. The first settlement wins.
--
-- KEYS  1 record   2 settlements
-- ARGV  1 prefix   2 id   3 epoch   4 role: 'gateway' or 'worker'   5 the worker that settles, or ''   6 outcome
--       7 prompt tokens   8 cached tokens   9 completion tokens   10 by (boot id)   11 receipt, or ''
--       12 the text that continues its trace, or ''   13 how long it waited and ran (`encodeTiming`), or ''
--       14 'again' where the entry of an earlier call may be lost, else ''
-- Returns { status, worker to stop or '', 1 if it was waiting else 0 }, with one of these states:
--   recorded   this call settled it
--   settled    an earlier one did; the rest is what that call returned. With `again` its entry is appended once more:
--              the stream may have lost it while the record stayed. Billing counts an entry once
--   stale      of an epoch before the record's, or not this worker's
--
-- A gateway may be ahead of the record: it raises its own epoch before it lifts. It may know a generation whose record
-- was lost or has expired; then billing, which is idempotent by id, decides. A worker settles only what is its own.
local id, epoch, role, settler = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]

local state = call('HMGET', KEYS[1], 'epoch', 'settled', 'worker', 'tag')
local recorded, worker = tonumber(state[1] or 0), state[3] or nil
local waited = state[4] and not worker
local answer = { 'recorded', worker or '', waited and 1 or 0 }
if state[2] then
  answer[1] = 'settled'
  if ARGV[14] == 'again' then
    local usage = { string.match(call('HGET', KEYS[1], 'usage'), '^(%S+) (%S+) (%S+)$') }
    append_settlement(id, recorded, state[2], usage, ARGV[10], ARGV[11], ARGV[12], ARGV[13])
  end
  return answer
end
if role == 'worker' and (recorded ~= epoch or worker ~= settler) then return { 'stale', '', 0 } end
if epoch < recorded then return { 'stale', '', 0 } end

if waited then leave_waiting(true, recorded_member(id)) end
end_generation(id, epoch, ARGV[6], { ARGV[7], ARGV[8], ARGV[9] }, ARGV[10], ARGV[11], ARGV[12], ARGV[13])
return answer
