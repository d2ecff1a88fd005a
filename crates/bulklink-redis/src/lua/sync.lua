-- ARGV: process seq config limit lease claim calm recovers epoch run young longest token keep need least spare weight
local caller = ARGV[1]
local A = {}
for i = 2, 18 do A[i] = tonumber(ARGV[i]) end
local seq, config, limit, lease, claim, calm, recovers = A[2], A[3], A[4], A[5], A[6], A[7], A[8]
-- 0 and - are none.
local epoch, run, longest, keep, need, least, spare, weight = A[9], ARGV[10], A[12], A[14], A[15], A[16], A[17], A[18]

local function has_same_values()
  return limit == data.limit and lease == data.lease and claim == data.claim and calm == data.calm
    and recovers == data.recovers
end

local function declare()
  data.config, data.limit, data.lease, data.claim, data.calm, data.recovers, data.declarer =
    config, limit, lease, claim, calm, recovers, caller
end

local function is_abandoned(at) return data.horizon <= at end

local function longest_of() return max(data.lease, data.claim, longest) end

local is_new = not load()
if is_new then
  data, stored = {}, {}
  for _, name in ipairs(names) do data[name] = 0 end
  data.epoch, data.run, data.live, data.version = max(server_now, epoch + 1), run, limit, 1
  data.clock, data.level, data.told_level = server_now, UNBOUNDED, UNBOUNDED
  declare()
else
  -- All checks come before the first write: what is refused changes nothing.
  local row = read(caller)
  if row and row.seq >= seq then return {9} end
  if config == data.config and not has_same_values() and not is_abandoned(clock_at()) then
    return {8, data.declarer, data.limit, data.lease, data.claim, data.calm, data.recovers}
  end
end
if is_new or is_torn then
  -- Others may use units of which only a part of the data is left.
  if not is_new then data.epoch = max(server_now, data.epoch + 1, epoch + 1) end
  data.granted, data.living, data.weights, rows = 0, 0, 0, {}
  call('DEL', R, T, Q)
end
begin()

-- recover
local has_other_run = run ~= '-' and run ~= data.run
if has_other_run then data.run = run end
local is_lost = is_torn or (epoch > 0 and epoch ~= data.epoch) or has_other_run or (is_new and A[11] == 1)
if is_lost and data.recovers == 1 then
  data.quarantine = max(data.quarantine, now + longest_of(), data.horizon)
end

-- join
if not (config == data.config and has_same_values()) and (config > data.config or is_abandoned(now)) then
  local has_changed = config ~= data.config or limit ~= data.limit
  declare()
  if has_changed then change_limit(limit) end
end

-- replace_row
local old = read(caller)
local was_queued = old and old.ticket > 0
if old then count(old, -1) else old = {granted = 0, ticket = 0, until_ = 0, token = 0} end
local granted = now < data.quarantine and keep or min(keep, old.granted)
local serial = next_token(A[13])
local row = {seq = seq, serial = serial, granted = granted, need = need, least = least, weight = weight, ticket = 0,
  stated = now, heard = now + data.claim, until_ = now + data.claim, token = granted > old.granted and serial or old.token}
if granted > 0 then row.until_ = max(row.until_, old.until_) end
if granted > old.granted then row.until_ = max(row.until_, now + longest_of()) end
if is_hungry(row) then row.ticket = old.ticket > 0 and old.ticket or next_ticket() end
rows[caller] = row
count(row, 1)
if was_queued or row.ticket > 0 then enqueue(caller, row) end
-- The level is computed from all rows.
if is_contended() then write(caller, row) end

pump(caller)

-- finish
if now >= data.quarantine and now >= data.tight and not is_hungry(row) then
  local units = min(max(0, spare - (row.granted - row.need)), floor(free() / 4))
  count(row, -1)
  row.granted = row.granted + units
  count(row, 1)
end
if row.granted > granted then row.token = next_token(0) end
if row.granted > 0 then row.until_ = max(row.until_, now + data.lease) end
data.horizon = max(data.horizon, row.until_)
write(caller, row)
turns(caller, row)
save()

-- reply
local due = -1
if is_hungry(row) then
  if now < data.quarantine then
    due = data.quarantine - now
  else
    local first = call('ZRANGE', T, 0, 1, 'WITHSCORES')
    local other = first[1] == caller and first[4] or first[1] ~= caller and first[2]
    if other then due = max(0, tonumber(other) - now) end
    -- A level that has fallen within a calm: all are notified at the end of it.
    if level_at() >= 0 and data.level < data.told_level then
      local news = max(0, data.told + data.calm - now)
      due = due < 0 and news or min(due, news)
    end
  end
end
return {1, serial, row.granted, row.until_ - now, row.token, data.epoch, level_at(), due, max(0, data.quarantine - now),
  max(data.lease, data.claim, data.horizon - now), data.live, data.version, data.living, data.weights}
