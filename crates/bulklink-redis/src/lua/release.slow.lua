if not epoch then
  for _, id in ipairs(ARGV) do call('ZREM', L, id); call('ZREM', Q, id) end
  return answer(0)
end
for i = done + 1, #ARGV do drop(ARGV[i]) end
expire()
pump()
return answer(1)
