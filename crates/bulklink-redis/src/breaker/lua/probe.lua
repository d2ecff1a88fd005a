-- ARGV[4..6]: generation, the probe, its mark or ''
if c.s ~= 'h' or s(c.g) ~= ARGV[4] then return answer(0) end
for i, probe in ipairs(c.b) do
  if string.sub(probe, 18) == ARGV[5] then
    table.remove(c.b, i)
    dirty = true
    if ARGV[6] == '.' then
      c.x = c.x + 1
    elseif ARGV[6] ~= '' then
      c.y = c.y + 1
    else
      return answer(1)
    end
    if c.y >= mine[14] then
      -- The doubling has ended by then.
      c.r = math.min(c.r + 1, 32)
      open()
    elseif c.x >= mine[13] then
      close()
    end
    return answer(1)
  end
end
return answer(0)
