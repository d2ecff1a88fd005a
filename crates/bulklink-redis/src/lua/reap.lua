-- ARGV: full ('0' or '1'), offset in the queue
if not epoch then return answer(0) end
local before = used
expire()
local freed = before - used
local skipped, offset = 0, tonumber(ARGV[2] or '0')
local dead = call('ZRANGEBYSCORE', O, '-inf', s(now), 'LIMIT', 0, batch)
if #dead > 0 then call('ZREM', O, unpack(dead)); call('HDEL', I, unpack(dead)) end
local seen = 0
if ARGV[1] == '1' then
  local ids = call('ZRANGE', Q, offset, offset + batch - 1)
  for _, id in ipairs(ids) do
    local e = call('ZSCORE', O, find(id, '^[^:]+'))
    if not e or tonumber(e) <= now then call('ZREM', Q, id); skipped = skipped + 1 end
  end
  if #ids == batch then more = 1 end
  seen = #ids
end
pump()
local a = answer(1, freed, skipped)
a[11] = offset + seen - skipped
return a
