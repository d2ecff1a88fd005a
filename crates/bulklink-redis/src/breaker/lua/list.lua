if not h[1] or changed then return false end
-- Whether processes have used different settings in the last minute.
local differed = whole(call('HMGET', K, 'd')[1])
local lately = differed and math.abs(now - differed) < 60000000
return {1, -1, lately and 1 or 0, unpack(row())}
