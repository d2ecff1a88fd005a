#!lua flags=no-writes
local time = redis.call('TIME')
return {time[1] * 1000000 + time[2], redis.call('HGETALL', KEYS[4]), redis.call('HGETALL', KEYS[1])}
