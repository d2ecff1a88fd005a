-- ARGV[4]: the probe
if c.s == 'o' then
  if c.u == '-' then return answer(0) end
  local rest = tonumber(c.u) - now
  if rest > 0 then return answer(0, rest) end
  enter('h')
end
if c.s == 'c' then return answer(1) end
for _, probe in ipairs(c.b) do
  if string.sub(probe, 18) == ARGV[4] then return answer(2) end
end
local place, too_many = #c.b + 1, #c.b - mine[12]
if too_many >= 0 then
  -- More than none if the settings were changed to fewer.
  table.sort(c.b)
  place = 1
  local rest = tonumber(string.sub(c.b[1 + too_many], 1, 16)) - now
  if rest > 0 then return answer(0, rest) end
end
c.b[place] = fmt('%016.0f', now + mine[15]) .. ':' .. ARGV[4]
dirty = true
return answer(2)
