-- ARGV: limit expected_version
if not load() then return {0} end
if is_torn then malformed('rows') end
if data.version ~= tonumber(ARGV[2]) then return {7, data.live, data.version} end
begin()
change_limit(tonumber(ARGV[1]))
pump(nil)
save()
return {1, data.version}
