-- ARGV[4..5]: 'o' or 'c', the expected generation or ''
if ARGV[5] ~= '' and ARGV[5] ~= s(c.g) then return answer(0) end
if ARGV[4] == 'o' then
  c.r = 0
  enter('o', '-')
else
  close()
end
return answer(1)
