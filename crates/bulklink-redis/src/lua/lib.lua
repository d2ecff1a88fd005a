local call, fmt, find = redis.call, string.format, string.match
local L, Q, O, M, I = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local P = string.sub(L, 1, -2)
local more = 0
-- How many expired leases and how many grants one call handles, so that none blocks the server.
local batch, grants = 500, 200
local h = call('HMGET', M, 'e', 'l', 'v', 'q', 'x', 'k', 'w', 'r')
local epoch, limit, version = h[1], tonumber(h[2]), tonumber(h[3])
local quarantine, extra, block, claim = tonumber(h[4]), tonumber(h[5]), tonumber(h[6]), tonumber(h[7])
local function s(n) return fmt('%.0f', n) end
local function cost(id) return tonumber(find(id, ':(%d+)$')) end
local function add_extra(n)
  if n ~= 0 then extra = extra + n; call('HSET', M, 'x', s(extra)) end
end
local used = epoch and call('ZCARD', L) + extra or 0
-- Removes a lease or a waiter. Returns whether it was a lease.
local function drop(id)
  if call('ZREM', L, id) == 1 then
    local c = cost(id)
    used = used - c
    add_extra(1 - c)
    return true
  end
  call('ZREM', Q, id)
  return false
end
local function hold(id, until_)
  local c = cost(id)
  call('ZADD', L, s(until_), id)
  used = used + c
  add_extra(c - 1)
end
local function token() return call('HINCRBY', M, 'f', block) - block + 1 end
local function expire()
  local late = call('ZRANGEBYSCORE', L, '-inf', s(now), 'LIMIT', 0, batch)
  if #late > 0 then
    local sum = 0
    for _, id in ipairs(late) do sum = sum + cost(id) end
    call('ZREM', L, unpack(late))
    used = used - sum
    add_extra(#late - sum)
    if #late == batch then more = 1 end
  end
end
-- Hands free units to the head of the queue.
local function pump()
  if now < quarantine then return end
  for _ = 1, grants do
    local id = used < limit and call('ZRANGE', Q, 0, 0)[1]
    if not id then return end
    local c = cost(id)
    if c <= limit and used + c > limit then return end
    call('ZREM', Q, id)
    local owner = find(id, '^[^:]+')
    local session = call('ZSCORE', O, owner)
    if c > limit then
      call('SPUBLISH', P .. 'n:' .. owner, 'x ' .. id)
    elseif session and tonumber(session) > now then
      if call('SPUBLISH', P .. 'n:' .. owner, 'g ' .. id .. ' ' .. s(token()) .. ' ' .. epoch) > 0 then
        hold(id, now + claim)
      end
    end
  end
  more = 1
end
local function first(key)
  local e = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return e[2] and tonumber(e[2]) or 0
end
local function answer(code, a, b)
  return {code, now, epoch or '', limit or 0, version or 0, used, call('ZCARD', Q), a or 0, b or 0, more}
end
