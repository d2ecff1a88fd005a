#!lua
local c, K, A = redis.call, KEYS, ARGV
local t = c('TIME')
local now = t[1] * 1000000 + t[2]
-- ARGV: id cost mode qmax epoch run ttl session old...
local old = A[9]
if not old or (not A[10] and string.sub(old, -2) == ':1') then
  local leases, settings, cost = K[1], K[4], A[2]
  local m = c('HMGET', settings, 'e', 'l', 'v', 'q', 'x', 'k', 'r')
  if m[1] == A[5] and m[7] == A[6] and now >= tonumber(m[4]) then
    if old then c('ZREM', leases, old) end
    local used = c('ZCARD', leases) + m[5] + cost
    local limit = tonumber(m[2])
    -- `redis.call` writes whole numbers below 2^53 exactly.
    if used <= limit and c('EXISTS', K[2]) == 0 and c('ZADD', leases, 'NX', now + A[7], A[1]) == 1 then
      if cost ~= '1' then c('HINCRBY', settings, 'x', cost - 1) end
      return {1, now, m[1], limit, tonumber(m[3]), used, 0, c('HINCRBY', settings, 'f', m[6]) - m[6] + 1, 0, 0}
    end
  end
end
