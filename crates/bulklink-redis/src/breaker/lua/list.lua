if not h[1] or changed then return false end
return {1, -1, 0, unpack(row())}
