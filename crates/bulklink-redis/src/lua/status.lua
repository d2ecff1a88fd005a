#!lua flags=no-writes
-- ARGV: first and last rank of the pages
local c = redis.call
local t = c('TIME')
local now = t[1] * 1000000 + t[2]
local m = c('HMGET', KEYS[4], 'e', 'l', 'd', 'c', 'v', 'q', 'x', 'p', 'w', 'k', 'f', 't', 'r')
local function page(key) return c('ZRANGE', key, ARGV[1], ARGV[2], 'WITHSCORES') end
local owners, infos = page(KEYS[3]), {}
for i = 1, #owners, 2 do infos[#infos + 1] = c('HGET', KEYS[5], owners[i]) end
return {now, m, c('ZCARD', KEYS[1]), c('ZCARD', KEYS[2]), c('ZCOUNT', KEYS[1], '-inf', string.format('%.0f', now)),
  page(KEYS[1]), page(KEYS[2]), owners, infos}
