#!lua
local c = redis.call
local t = c('TIME')
local now = t[1] * 1000000 + t[2]
-- ARGV: id cost mode qmax epoch run ttl session old...
if #ARGV == 8 or (#ARGV == 9 and string.sub(ARGV[9], -2) == ':1') then
  local m = c('HMGET', KEYS[4], 'e', 'l', 'v', 'q', 'x', 'k', 'r')
  if m[1] == ARGV[5] and m[7] == ARGV[6] and now >= tonumber(m[4]) then
    if ARGV[9] then c('ZREM', KEYS[1], ARGV[9]) end
    local used = c('ZCARD', KEYS[1]) + m[5] + ARGV[2]
    if used <= tonumber(m[2]) and c('EXISTS', KEYS[2]) == 0
      and c('ZADD', KEYS[1], 'NX', string.format('%.0f', now + ARGV[7]), ARGV[1]) == 1 then
      if ARGV[2] ~= '1' then c('HINCRBY', KEYS[4], 'x', ARGV[2] - 1) end
      return {1, now, m[1], tonumber(m[2]), tonumber(m[3]), used, 0, c('HINCRBY', KEYS[4], 'f', m[6]) - m[6] + 1, 0, 0}
    end
  end
end
