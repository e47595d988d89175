#!lua
-- Stores one change of a game, or nothing: the only write to a game's keys.
--
-- KEYS  game (hash), events (stream), deals (list), begins (hash), and perhaps claim (string)
-- ARGV  how the bell is rung ('PUBLISH', or 'SPUBLISH' on a cluster), its channel,
--       version after the change, record, nonce of this commit,
--       milliseconds to keep the keys, milliseconds to keep the claim,
--       field of the seat's requests ('' for none), what to remember of this one ('' for nothing),
--       how the game stands, for those who count games without reading their records,
--       the nonce of the commit that this one builds on ('': of whatever has that version),
--       number of events, then of each event number, version, time, text and '1' if it was forced;
--       number of deals that began, then of each its number and that of the event;
--       what follows are the results of deals.
--
-- A request with an Idempotency-Key is remembered with the change that it made: one that takes a
-- seat in the claim, one of a seat in the list of that seat's last requests.
--
-- Answers {'stored'}, also to a repeat of a commit that was stored already; {'lost', record, what
-- the request is remembered by, commits} if another commit came first, or the request was carried
-- out before; {'gone'} if there is no game that could be changed.

local game, events, deals, begins, claim = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ring, bell, version, record = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local nonce, lifetime, claim_lifetime, field, request = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local standing, builds_on = ARGV[10], ARGV[11]

-- Between two attempts of one client the others cannot get sixteen changes further: it is its turn.
local COMMITS_REMEMBERED = 16
local REQUESTS_REMEMBERED = 32

local function remembered()
  if claim then return redis.call('GET', claim) end
  if field ~= '' then return redis.call('HGET', game, field) end
  return false
end

-- Who asks how many replicas have it hears of what was written on the same connection only: so what
-- was stored before, and is acknowledged now, is passed on once more.
local function pass_on()
  local left = redis.call('PTTL', game)
  if left > 0 then redis.call('PEXPIRE', game, left) end
end

local before = redis.call('HMGET', game, 'version', 'commits')
local stored = tonumber(before[1] or 0)
local commits = before[2] or ''

if string.find(commits, nonce, 1, true) then
  pass_on()
  return {'stored'}
end
if stored == 0 and version > 1 then
  return {'gone'}
end
-- Who builds on a copy does not know what has been remembered since. Who builds on what was loaded
-- does, and for them it is the version that counts.
local was_made = false
if builds_on ~= '' and request ~= '' then
  local key = string.match(request, '^%S+ ')
  was_made = string.find('\n' .. (remembered() or ''), '\n' .. key, 1, true)
end
if stored ~= version - 1 or was_made or string.sub(commits, 1, #builds_on) ~= builds_on then
  local earlier = remembered()
  if earlier then pass_on() end
  return {'lost', redis.call('HGET', game, 'record'), earlier, commits}
end

local first_begin = 14 + 5 * tonumber(ARGV[12])
local first_result = first_begin + 2 * tonumber(ARGV[first_begin - 1])
for i = 13, first_begin - 2, 5 do
  redis.call('XADD', events, ARGV[i] .. '-0', 'v', ARGV[i + 1], 't', ARGV[i + 2], 'e', ARGV[i + 3],
    'f', ARGV[i + 4])
end
for i = first_begin, first_result - 1, 2 do
  redis.call('HSET', begins, ARGV[i], ARGV[i + 1])
end
for i = first_result, #ARGV do
  redis.call('RPUSH', deals, ARGV[i])
end
if request ~= '' and claim then
  redis.call('SET', claim, request, 'PX', claim_lifetime)
elseif request ~= '' then
  local requests = { request }
  for earlier in string.gmatch(remembered() or '', '[^\n]+') do
    if #requests == REQUESTS_REMEMBERED then break end
    requests[#requests + 1] = earlier
  end
  redis.call('HSET', game, field, table.concat(requests, '\n'))
end
local nonces = string.sub(nonce .. ' ' .. commits, 1, COMMITS_REMEMBERED * (#nonce + 1))
redis.call('HSET', game, 'version', version, 'record', record, 'commits', nonces,
  'standing', standing)
-- Redis 7.0 lets time pass in a script: the game goes first, so there is never one without its log.
for _, key in ipairs({ game, events, deals, begins }) do
  redis.call('PEXPIRE', key, lifetime)
end
redis.call(ring, bell, version)
return {'stored'}
