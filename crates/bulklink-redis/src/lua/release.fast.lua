#!lua flags=allow-oom
local c = redis.call
local done = 0
if #ARGV == 1 and string.sub(ARGV[1], -2) == ':1' and c('ZREM', KEYS[1], ARGV[1]) == 1 then
  if c('EXISTS', KEYS[2]) == 0 then return 1 end
  done = 1
end
local t = c('TIME')
local now = t[1] * 1000000 + t[2]
