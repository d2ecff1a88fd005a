local id, units, mode, qmax = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if epoch ~= ARGV[5] or h[8] ~= ARGV[6] then return answer(0) end
local function granted()
  if more == 0 then return token() end
  return answer(1, token())
end
for i = 10, #ARGV do drop(ARGV[i]) end
if call('ZSCORE', L, id) then
  call('ZADD', L, 'XX', s(now + ARGV[7]), id)
  return granted()
end
local waits = call('ZSCORE', Q, id)
expire()
pump()
-- The pump may have granted this very id, if the call is a retry.
if waits and call('ZSCORE', L, id) then
  call('ZADD', L, 'XX', s(now + ARGV[7]), id)
  return granted()
end
if units > limit then return answer(6) end
local empty = call('EXISTS', Q) == 0
if now >= quarantine and empty and used + units <= limit then
  hold(id, now + ARGV[7])
  return granted()
end
local ticket = call('ZSCORE', Q, id)
if not ticket then
  if mode == 'n' then
    if now < quarantine then return answer(5, quarantine) end
    return answer(3, first(L))
  end
  if call('ZCARD', Q) >= qmax then return answer(4, first(L)) end
  ticket = call('HINCRBY', M, 't', 1)
  call('ZADD', Q, s(ticket), id)
  call('ZADD', O, 'GT', s(now + ARGV[8]), find(id, '^[^:]+'))
end
local a = answer(2, tonumber(ticket), first(L))
a[11] = call('ZRANK', Q, id)
return a
