-- A seat says which worker's engine has lately read the beginning of a conversation, and so may have it in its prefix
-- cache. A seat is only a hint, and may be lost at any time. Its name is a keyed hash of an account and of the conversation's
-- beginning (`apps/gateway/generation/dispatch/affinity.ts`), so a prompt cannot be read from it, and can be tested against it only
-- with the secret.
--
--   seats      hash   seat → '<Redis ms of its last claim> <worker>'
--   seat-ages  zset   seat → Redis ms of its last claim, or YOUNG_MS before it
-- A seat counts for ten minutes. There are at most MOST_SEATS: each claim adds up to two and removes up to
-- FORGOTTEN_SEATS, the oldest first. The seats of a generation whose enqueue found no seat have an age that is YOUNG_MS higher:
-- most requests are not continued, and their seats must not push out the seats of conversations. Both keys expire when
-- nothing is claimed for ten minutes.
--
-- A record stores the names of its seats, after the word YOUNG if its enqueue found no seat.
--
-- The home of a waiting generation is the worker that it waits for, mostly the worker of its seat. The record stores it as
-- '<Redis ms> <worker>'. Until that time only its home claims the generation (`claim.lua`).
local SEAT_MS, MOST_SEATS, FORGOTTEN_SEATS = 600000, 50000, 8
local YOUNG, YOUNG_MS = '-', 480000
local seats_key, seat_ages_key, homes_key = prefix .. 'seats', prefix .. 'seat-ages', prefix .. 'homes'

local function to_list(words)
  local list = {}
  for word in string.gmatch(words, '%S+') do list[#list + 1] = word end
  return list
end

-- Returns the worker of the first of the named seats that exists; '' if none does.
local function find_seat(names, now)
  if names == '' then return '' end
  for _, seat in ipairs(call('HMGET', seats_key, unpack(to_list(names)))) do
    if seat then
      local ms, worker = string.match(seat, '^(%d+) (.+)$')
      if now - ms <= SEAT_MS then return worker end
    end
  end
  return ''
end

local function forget_seats(now)
  local passed = integer(now - SEAT_MS - YOUNG_MS)
  local old = call('ZRANGEBYSCORE', seat_ages_key, '-inf', passed, 'LIMIT', '0', FORGOTTEN_SEATS)
  local surplus = math.min(call('ZCARD', seat_ages_key) - MOST_SEATS, FORGOTTEN_SEATS)
  if #old == 0 and surplus > 0 then old = call('ZRANGE', seat_ages_key, '0', integer(surplus - 1)) end
  if #old == 0 then return end
  call('ZREM', seat_ages_key, unpack(old))
  call('HDEL', seats_key, unpack(old))
end

local function take_seats(names, worker, now)
  if not names then return end
  local list, age = to_list(names), now
  if list[1] == YOUNG then age = now - YOUNG_MS end
  for index = age == now and 1 or 2, #list do
    call('HSET', seats_key, list[index], integer(now) .. ' ' .. worker)
    call('ZADD', seat_ages_key, integer(age), list[index])
  end
  forget_seats(now)
  call('PEXPIRE', seats_key, SEAT_MS)
  call('PEXPIRE', seat_ages_key, SEAT_MS)
end
