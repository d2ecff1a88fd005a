-- ARGV: limit expected_version
if not epoch then return answer(0) end
if s(version) ~= ARGV[2] then return answer(7, limit, version) end
version, limit = version + 1, tonumber(ARGV[1])
call('HSET', M, 'l', ARGV[1], 'v', s(version))
expire()
pump()
return answer(1)
