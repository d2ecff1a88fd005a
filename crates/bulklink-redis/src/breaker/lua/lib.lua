local call, fmt, match = redis.call, string.format, string.match
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
-- KEYS: the circuit. ARGV: settings or '', channel, name, what the operation needs...
local K = KEYS[1]
local function s(n) return fmt('%.0f', n) end
local function whole(text)
  local n = text and #text <= 16 and match(text, '^%d+$') and tonumber(text)
  return n and n <= 9007199254740992 and n or nil
end
local function words(text, read)
  local list = {}
  for word in string.gmatch(text, '%S+') do
    list[#list + 1] = read(word)
    if not list[#list] then return nil end
  end
  return list
end
local function lease(word) return match(word, '^%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d:%x+$') and #word == 33 and word end
local zeros = string.rep('0 ', 29) .. '0'
-- Settings: calls, part, failures (3), slow (3), slow_after, cool_downs (2), probes (3), lease.
local mine = words(ARGV[1], whole)
local h = redis.pcall('HMGET', K, 's', 'g', 'u', 'r', 'n', 'w', 'p', 'x', 'y', 'b')
if h.err then
  if not match(h.err, 'WRONGTYPE') then return h end
  call('DEL', K)
  h = {'-'}
end
local function new(generation)
  return {s = 'c', g = generation, u = '', r = 0, n = '', w = '', p = 0, x = 0, y = 0, b = {}}
end
-- The circuit of the row, or nil if it is none.
local function read()
  local c = {s = h[1], g = whole(h[2]), u = h[3], r = whole(h[4]), n = h[5], w = h[6], p = whole(h[7]),
    x = whole(h[8]), y = whole(h[9])}
  if not (c.g and c.r and c.p and c.x and c.y and c.n and c.w and h[10]) then return nil end
  local until_ = c.u == '-' or whole(c.u)
  if not ((c.s == 'o' and until_) or ((c.s == 'c' or c.s == 'h') and c.u == '')) then return nil end
  local known = words(c.n, whole)
  if not known or (#known ~= 15 and #known ~= 0) then return nil end
  c.calls, c.part = known[1] or 0, known[2] or 0
  if c.part > 0 then
    c.parts = words(c.w, whole)
    if not c.parts or #c.parts ~= 30 then return nil end
  elseif not match(c.w, '^[.fsb]*$') or #c.w > c.calls then
    return nil
  end
  c.b = words(h[10], lease)
  if not c.b or (#c.b > 0 and c.s ~= 'h') then return nil end
  return c
end
local changed, dirty, differ = false, false, 0
local c = read()
if not c then
  changed, dirty = h[1], true
  c = new(math.max(now, (whole(h[2]) or 0) + 1))
  c.calls, c.part = 0, 0
end
local function clear()
  c.parts = c.part > 0 and words(zeros, whole) or nil
  c.w, c.p = '', 0
end
-- Changes the row to the settings of the process.
if #mine > 0 and c.n ~= ARGV[1] then
  differ, dirty = c.n ~= '' and 1 or 0, true
  if differ == 1 then call('HSET', K, 'd', s(now)) end
  local had = c.part
  c.n, c.calls, c.part = ARGV[1], mine[1], mine[2]
  if had ~= c.part then
    clear()
  elseif c.part == 0 then
    c.w = string.sub(c.w, -c.calls)
  end
end
local function enter(state, until_)
  c.s, c.u, c.x, c.y, c.b, c.g = state, until_ or '', 0, 0, {}, c.g + 1
  changed, dirty = true, true
  clear()
end
-- Those of the process, or else of the row.
local settings = #mine > 0 and mine or words(c.n, whole)
local function cool_down_after(reopened)
  return reopened < 32 and math.min(settings[10] * 2 ^ reopened, settings[11]) or settings[11]
end
local function open()
  enter('o', s(now + cool_down_after(c.r)))
end
-- A clock that was set back: nothing ends later than if it began now.
if #settings > 0 then
  local latest = now + cool_down_after(c.r)
  if c.s == 'o' and c.u ~= '-' and tonumber(c.u) > latest then c.u, dirty = s(latest), true end
  latest = fmt('%016.0f', now + settings[15])
  for i, probe in ipairs(c.b) do
    if string.sub(probe, 1, 16) > latest then c.b[i], dirty = latest .. string.sub(probe, 17), true end
  end
end
local function close()
  c.r = 0
  enter('c')
end
local function counts()
  if c.part > 0 then
    local sum = {0, 0, 0}
    local passed = math.max(math.floor(now / c.part) - c.p, 0)
    for i = 1, 30 - 3 * passed do
      local kind = (i - 1) % 3 + 1
      sum[kind] = sum[kind] + c.parts[i]
    end
    return sum
  end
  local _, failed = string.gsub(c.w, '[fb]', '')
  local _, slow = string.gsub(c.w, '[sb]', '')
  return {#c.w, failed, slow}
end
-- The row as numbers.
local function row()
  local state, retry, forced, live = 0, -1, 0, 0
  local sum, x, y = {0, 0, 0}, 0, 0
  if c.s == 'c' then
    sum = counts()
  elseif c.s == 'h' then
    state, x, y = 2, c.x, c.y
    for _, probe in ipairs(c.b) do
      if tonumber(string.sub(probe, 1, 16)) > now then live = live + 1 end
    end
  elseif c.u == '-' then
    state, forced = 1, 1
  elseif tonumber(c.u) > now then
    state, retry = 1, tonumber(c.u) - now
  else
    state = 2
  end
  return {state, c.g, retry, forced, sum[1], sum[2], sum[3], x, y, live}
end
local function texts(numbers)
  local list = {}
  for i, number in ipairs(numbers) do list[i] = s(number) end
  return table.concat(list, ' ')
end
-- Writes what has changed, and answers with a code, a number and the row.
local function answer(code, number)
  local r = row()
  -- Without this right, nothing must be written. Nobody takes an empty message for a transition.
  if changed then call('PUBLISH', ARGV[2], '') end
  if dirty then
    local window = c.part > 0 and texts(c.parts) or c.w
    call('HSET', K, 's', c.s, 'g', s(c.g), 'u', c.u, 'r', s(c.r), 'n', c.n, 'w', window, 'p', s(c.p),
      'x', s(c.x), 'y', s(c.y), 'b', table.concat(c.b, ' '))
  end
  if changed then
    call('PUBLISH', ARGV[2], ARGV[3] .. ' ' .. texts(r))
  end
  return {code, number or -1, differ, unpack(r)}
end
