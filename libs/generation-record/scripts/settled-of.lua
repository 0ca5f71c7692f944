-- KEYS: records. Returns for each key 1 if the record is settled or does not exist, else 0.
local answers = {}
for index, record_key in ipairs(KEYS) do
  local state = redis.call('HMGET', record_key, 'epoch', 'settled')
  answers[index] = (state[2] or not state[1]) and 1 or 0
end
return answers
