-- ARGV: owner generation limit config ttl claim block known_epoch highest_token run young session info
local owner, gen, want, config, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local known, run = ARGV[8], ARGV[10]
if not epoch then
  local e = math.max(now, (tonumber(known) or 0) + 1, (tonumber(ARGV[9]) or 0) + 1)
  local torn = call('EXISTS', L, Q, O) > 0
  local q = (torn or known ~= '' or ARGV[11] == '1') and run ~= '-' and now + ttl or 0
  call('HSET', M, 'e', s(e), 'f', s(e), 't', s(e), 'x', 0, 'q', s(q), 'l', want, 'd', want, 'c', s(config), 'v', 1,
    'p', ttl, 'w', ARGV[6], 'k', ARGV[7], 'r', run)
  call('DEL', L, Q, O, I)
  epoch, limit, version, quarantine, extra, used = s(e), tonumber(want), 1, q, 0, 0
else
  local m = call('HMGET', M, 'd', 'c', 'p', 'w', 'k')
  local theirs = tonumber(m[2])
  -- All checks come before the first write: a refused process changes nothing.
  if m[3] ~= ttl or m[4] ~= ARGV[6] or m[5] ~= ARGV[7] then return answer(8, tonumber(m[3]), tonumber(m[4])) end
  if (run == '-') ~= (h[8] == '-') then return answer(8) end
  if config == theirs and m[1] ~= want then return answer(7, tonumber(m[1]), theirs) end
  if config > theirs then
    version = version + 1
    limit = tonumber(want)
    call('HSET', M, 'l', want, 'd', want, 'c', s(config), 'v', s(version))
  end
  if run ~= h[8] or (known ~= '' and known ~= epoch and run ~= '-') then
    quarantine = now + ttl
    -- The last tokens may be among what was lost. Tokens grow from the time at which the data was
    -- new, and slower than one in a microsecond.
    local last = math.max(tonumber(call('HGET', M, 'f')), now)
    call('HSET', M, 'r', run, 'q', s(quarantine), 'f', s(last))
  end
end
call('ZADD', O, s(now + ARGV[12]), owner)
call('HSET', I, owner, gen .. ' ' .. ARGV[13])
expire()
pump()
return answer(1, quarantine, call('ZCARD', O))
