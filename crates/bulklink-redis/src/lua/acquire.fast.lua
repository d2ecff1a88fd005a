#!lua
local c, K, A = redis.call, KEYS, ARGV
local t = c('TIME')
local now = t[1] * 1000000 + t[2]
-- ARGV: id cost mode qmax epoch run ttl session block old...
local old = A[10]
if not old or (not A[11] and string.sub(old, -2) == ':1') then
  local leases, settings, cost, block = K[1], K[4], A[2], A[9]
  local m = c('HMGET', settings, 'e', 'r', 'q', 'l', 'x')
  if m[1] == A[5] and m[2] == A[6] and (m[3] == '0' or now >= tonumber(m[3])) then
    if old then c('ZREM', leases, old) end
    local used = c('ZCARD', leases) + m[5] + cost
    -- `redis.call` writes whole numbers below 2^53 exactly.
    if used <= tonumber(m[4]) and c('EXISTS', K[2]) == 0 and c('ZADD', leases, 'NX', now + A[7], A[1]) == 1 then
      if cost ~= '1' then c('HINCRBY', settings, 'x', cost - 1) end
      -- Only a token, for a list of all that is known costs the server more than the grant.
      return c('HINCRBY', settings, 'f', block) - block + 1
    end
  end
end
