-- ARGV: owner generation epoch run ttl session info nL nQ ids... (waiter ticket)... doubtful...
local owner, nl, nq = ARGV[1], tonumber(ARGV[8]), tonumber(ARGV[9])
if epoch ~= ARGV[3] or h[8] ~= ARGV[4] then return answer(0) end
local gen = call('HGET', I, owner)
if gen and tonumber(find(gen, '^%d+')) > tonumber(ARGV[2]) then return answer(9) end
call('ZADD', O, s(now + ARGV[6]), owner)
call('HSET', I, owner, ARGV[2] .. ' ' .. ARGV[7])
local lost, granted = {}, {}
local fresh = s(now + ARGV[5])
for from = 10, 9 + nl, batch do
  local ids = {unpack(ARGV, from, math.min(from + batch - 1, 9 + nl))}
  local scores = call('ZMSCORE', L, unpack(ids))
  local renew = {}
  for i, id in ipairs(ids) do
    if scores[i] then
      renew[#renew + 1] = fresh
      renew[#renew + 1] = id
    elseif now < quarantine or used + cost(id) <= limit then
      call('ZREM', Q, id)
      hold(id, now + ARGV[5])
    else
      lost[#lost + 1] = id
    end
  end
  if #renew > 0 then call('ZADD', L, 'XX', unpack(renew)) end
end
local at = 10 + nl
for i = at, at + 2 * nq - 1, 2 do
  if call('ZSCORE', L, ARGV[i]) then
    call('ZADD', L, 'XX', fresh, ARGV[i])
    granted[#granted + 1] = ARGV[i]
    granted[#granted + 1] = s(token())
  else
    call('ZADD', Q, 'NX', ARGV[i + 1], ARGV[i])
  end
end
for i = at + 2 * nq, #ARGV do drop(ARGV[i]) end
expire()
pump()
local a = answer(1, first(L), call('ZCARD', O))
a[11], a[12], a[13] = lost, granted, quarantine
return a
