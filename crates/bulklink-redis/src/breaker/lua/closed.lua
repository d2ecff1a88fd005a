-- ARGV[4..8]: generation, marks, calls, failures, slow calls
if c.s ~= 'c' or s(c.g) ~= ARGV[4] then return answer(0) end
dirty = true
if c.part > 0 then
  -- A clock that steps back counts for the newest part, or in a new window if all would be of the
  -- future.
  local newest = math.floor(now / c.part)
  if c.p > newest + 10 then clear() end
  newest = math.max(newest, c.p)
  local shift = 3 * math.min(newest - c.p, 10)
  for i = 30, 1, -1 do c.parts[i] = i > shift and c.parts[i - shift] or 0 end
  c.p = newest
  for i = 1, 3 do c.parts[i] = c.parts[i] + ARGV[5 + i] end
else
  c.w = string.sub(c.w .. ARGV[5], -c.calls)
end
local sum = counts()
local function reached(count, at)
  return count >= mine[at] and count * 100 >= mine[at + 1] * sum[1] and sum[1] >= mine[at + 2]
end
if reached(sum[2], 3) or reached(sum[3], 6) then open() end
return answer(1)
