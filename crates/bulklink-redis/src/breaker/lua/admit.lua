-- ARGV[4]: the probe
if c.s == 'o' then
  if c.u == '-' then return answer(0) end
  local rest = tonumber(c.u) - now
  if rest > 0 then return answer(0, rest) end
  enter('h')
end
if c.s == 'c' then return answer(1) end
local first = 1
for i, probe in ipairs(c.b) do
  if string.sub(probe, 18) == ARGV[4] then return answer(2) end
  if probe < c.b[first] then first = i end
end
if #c.b < mine[12] then
  first = #c.b + 1
else
  local rest = tonumber(string.sub(c.b[first], 1, 16)) - now
  if rest > 0 then return answer(0, rest) end
end
c.b[first] = fmt('%016.0f', now + mine[15]) .. ':' .. ARGV[4]
dirty = true
return answer(2)
