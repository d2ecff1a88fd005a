-- ARGV: owner ids...
if not epoch then return answer(0) end
for i = 2, #ARGV do drop(ARGV[i]) end
call('ZREM', O, ARGV[1])
call('HDEL', I, ARGV[1])
expire()
pump()
return answer(1)
