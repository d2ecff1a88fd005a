#!lua flags=allow-oom
-- The server's machine of a name, as `share/allocator` of bulklink-fleet: what has the same name
-- does the same.
-- KEYS: rows, times at which they change, queue, settings
local call, fmt, min, max, floor = redis.call, string.format, math.min, math.max, math.floor
local R, T, Q, M = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local prefix = string.sub(R, 1, -2)
local UNBOUNDED, LOOKED_AT, PAUSE_PER_ROW, PAGE = 4294967295, 32, 20, 500
local time = call('TIME')
local server_now = time[1] * 1000000 + time[2]
local names = {'epoch', 'run', 'config', 'limit', 'lease', 'claim', 'calm', 'recovers', 'declarer', 'live', 'version',
  'token', 'ticket', 'clock', 'ahead', 'quarantine', 'horizon', 'tight', 'level', 'leveled', 'told', 'told_level',
  'granted', 'living', 'weights'}
-- What is known of the name, what of it the server has, and the rows that were read.
local data, stored, rows, now
-- Whether a part of the data is missing.
local is_torn
-- Whether a notice was published: from then on, the step must not fail.
local has_published = false

local function malformed(text)
  error({err = 'MALFORMED ' .. text})
end

-- Reads all keys, so that one of another type is an error before anything is written.
local function load()
  local values = call('HMGET', M, unpack(names))
  local size = call('HLEN', R)
  is_torn = call('ZCARD', T) ~= size or call('ZCARD', Q) > size
  rows = {}
  if not values[1] then
    is_torn = is_torn or size > 0
    return nil
  end
  data, stored = {}, {}
  for i, name in ipairs(names) do
    local is_text = name == 'run' or name == 'declarer'
    local value = is_text and values[i] or tonumber(values[i] or '')
    if not value then malformed('settings: ' .. name) end
    data[name], stored[name] = value, value
  end
  is_torn = is_torn or (size == 0 and data.granted + data.living > 0)
  return data
end

-- `redis.call` writes whole numbers below 2^53 exactly.
local function save()
  local changed = {}
  for _, name in ipairs(names) do
    if data[name] ~= stored[name] then
      changed[#changed + 1] = name
      changed[#changed + 1] = data[name]
    end
  end
  if #changed > 0 then call('HSET', M, unpack(changed)) end
end

local function read(process)
  if rows[process] then return rows[process] end
  local text = call('HGET', R, process)
  if not text then return nil end
  local a, b, c, d, e, f, g, h, i, j, k =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not a then
    if has_published then return nil end
    malformed('row of ' .. process)
  end
  local row = {seq = tonumber(a), serial = tonumber(b), granted = tonumber(c), need = tonumber(d), least = tonumber(e),
    weight = tonumber(f), ticket = tonumber(g), stated = tonumber(h), heard = tonumber(i), until_ = tonumber(j),
    token = tonumber(k)}
  rows[process] = row
  return row
end

local function write(process, row)
  call('HSET', R, process, fmt('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f', row.seq, row.serial,
    row.granted, row.need, row.least, row.weight, row.ticket, row.stated, row.heard, row.until_, row.token))
end

-- Adds a row to the sums, or takes it out of them.
local function count(row, sign)
  data.granted = data.granted + sign * row.granted
  if row.heard > 0 and (row.granted > 0 or row.need > 0) then
    data.living, data.weights = data.living + sign, data.weights + sign * max(row.weight, 1)
  end
end

-- Notes when a row changes without a statement.
local function turns(process, row)
  call('ZADD', T, row.heard > 0 and row.heard or row.until_, process)
end

-- A process that goes on only with more than the limit is in no queue.
local function enqueue(process, row)
  if row.ticket > 0 and row.heard > 0 and row.least <= data.live then call('ZADD', Q, row.ticket, process) else call('ZREM', Q, process) end
end

local function is_hungry(row) return row.granted < row.need end

local function step_of(row) return max(1, min(row.least, row.need) - row.granted) end

local function fair(row, level) return min(row.need, level * max(row.weight, 1)) end

local function free() return max(0, data.live - data.granted) end

local function next_token(known)
  data.token = max(max(data.token, known) + 1, now)
  return data.token
end

local function next_ticket()
  data.ticket = data.ticket + 1
  return data.ticket
end

local function change_limit(limit)
  data.live, data.version, data.leveled = limit, data.version + 1, 0
  for _, process in ipairs(call('HKEYS', R)) do
    local row = read(process)
    if row then enqueue(process, row) end
  end
end

local function clock_at() return max(server_now + data.ahead, data.clock) end

local function begin()
  now = clock_at()
  data.clock, data.ahead = now, now - server_now
  repeat
    local late = call('ZRANGEBYSCORE', T, '-inf', now, 'LIMIT', 0, PAGE)
    for _, process in ipairs(late) do
      local row = read(process)
      if not row or row.until_ <= now then
        if row then count(row, -1) end
        rows[process] = nil
        call('HDEL', R, process)
        call('ZREM', T, process)
      else
        count(row, -1)
        row.heard = 0
        count(row, 1)
        write(process, row)
        turns(process, row)
      end
      call('ZREM', Q, process)
    end
  until #late < PAGE
end

local function level_at() return now < data.tight and data.level or -1 end

local function fair_level()
  local parts, sum = {}, 0
  local first = call('ZRANGE', Q, 0, 0)[1]
  local all = call('HGETALL', R)
  for i = 1, #all, 2 do
    local row = rows[all[i]]
    local granted, need, least, weight, heard
    if row then
      granted, need, least, weight, heard = row.granted, row.need, row.least, row.weight, row.heard
    else
      granted, need, least, weight, heard =
        string.match(all[i + 1], '^%d+ %d+ (%d+) (%d+) (%d+) (%d+) %d+ %d+ (%d+)')
      granted, need, least, weight, heard =
        tonumber(granted), tonumber(need), tonumber(least), tonumber(weight), tonumber(heard)
    end
    if heard then
      local wanted = heard > 0 and need or min(need, granted)
      local is_first = all[i] == first
      parts[#parts + 1] = {wanted, max(weight, 1), is_first and min(least, wanted) or 0}
      sum = sum + wanted
    end
  end
  if sum <= data.live then return UNBOUNDED end
  -- At the lower level all have room, and at the higher one they have not.
  local low, high = 0, data.live + 1
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    sum = 0
    for _, part in ipairs(parts) do sum = sum + min(part[1], max(middle * part[2], part[3])) end
    if sum <= data.live then low = middle else high = middle end
  end
  return low
end

local function update_level()
  if data.leveled == 0 or data.leveled + PAUSE_PER_ROW * call('HLEN', R) <= now then
    data.level, data.leveled = fair_level(), now
  end
end

local function is_contended() return data.granted > data.live or call('ZCARD', Q) > 0 end

-- `grown` has the processes in order, and what each had before.
local function grow(process, row, units, grown)
  if units == 0 then return end
  if not grown[process] then
    grown[process] = row.granted
    grown[#grown + 1] = process
  end
  row.granted, data.granted = row.granted + units, data.granted + units
  local ticket = next_ticket()
  row.ticket = is_hungry(row) and ticket or 0
end

local function hand_out_to(queue, grown)
  local following, behind = {}, {}
  for _, process in ipairs(queue) do
    local row = rows[process]
    local step, missing = step_of(row), max(0, fair(row, data.level) - row.granted)
    local below = missing < step and 0 or min(missing, free())
    if (below > 0 and below < step) or (below == 0 and missing >= step) then return false end
    grow(process, row, below, grown)
    if is_hungry(row) then
      local list = below > 0 and behind or following
      list[#list + 1] = process
    end
  end
  for _, process in ipairs(behind) do following[#following + 1] = process end
  local at = 1
  while following[at] do
    local process = following[at]
    local row = rows[process]
    local step = step_of(row)
    if step > free() then return false end
    -- Equal parts, in few steps, and single units at the end.
    local part = floor(free() / (#following - at + 1))
    grow(process, row, min(max(part, step), row.need - row.granted), grown)
    if is_hungry(row) then following[#following + 1] = process end
    at = at + 1
  end
  return true
end

local function hand_out()
  local grown = {}
  while free() > 0 do
    local queue = {}
    for _, process in ipairs(call('ZRANGE', Q, 0, LOOKED_AT - 1)) do
      local row = read(process)
      -- Whatever is in the queue, it must come to an end.
      if row and is_hungry(row) then queue[#queue + 1] = process else call('ZREM', Q, process) end
    end
    local goes_on = #queue > 0 and hand_out_to(queue, grown)
    for _, process in ipairs(queue) do
      if grown[process] then enqueue(process, rows[process]) end
    end
    if not goes_on then break end
  end
  return grown
end

local function notify(caller, grown)
  local all_listen = true
  for _, process in ipairs(grown) do
    if process ~= caller then
      local row, earlier = rows[process], rows[process].token
      row.token = next_token(0)
      has_published = true
      local grant = fmt('s %.0f %.0f %.0f %.0f %.0f %.0f %.0f', row.seq, row.serial, row.granted,
        row.until_ - row.stated, row.token, data.epoch, level_at())
      if call('SPUBLISH', prefix .. 'n:' .. process, grant) == 0 then
        all_listen = false
        count(row, -1)
        row.granted, row.heard, row.token = grown[process], 0, earlier
        count(row, 1)
        local ticket = next_ticket()
        if row.ticket == 0 then row.ticket = ticket end
        call('ZREM', Q, process)
        turns(process, row)
      end
      write(process, row)
    end
  end
  return all_listen
end

local function tell(before)
  local level = level_at()
  if level < 0 then return end
  if (before < 0 or level < data.told_level) and now >= data.told + data.calm then
    data.told, data.told_level = now, level
    call('SPUBLISH', prefix .. 't', fmt('t %.0f', level))
  end
  data.told_level = max(data.told_level, level)
end

-- The one that waits is the caller, or none is served alone.
local function serve_alone(caller)
  local row = rows[caller]
  if not row or row.ticket == 0 or row.least > data.live or call('ZCARD', Q) ~= 1 then return false end
  if row.need - row.granted > free() then return false end
  data.granted = data.granted + row.need - row.granted
  row.granted, row.ticket = row.need, 0
  enqueue(caller, row)
  return true
end

local function pump(caller)
  if now < data.quarantine or serve_alone(caller) then return end
  local before = level_at()
  while is_contended() do
    update_level()
    local grown = hand_out()
    if is_contended() then data.tight = now + data.calm end
    if notify(caller, grown) then break end
  end
  tell(before)
end
