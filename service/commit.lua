#!lua
-- Stores one change of a game, or nothing: the only write to a game's keys.
--
-- KEYS  game (hash), events (stream), deals (list)
-- ARGV  channel of the bell, version after the change, record, nonce of this commit,
--       milliseconds to keep the keys, number of events, then of each event
--       number, version, time and text; what follows are the results of deals.
--
-- Answers {'stored'}, also to a repeat of a commit that was stored already; {'lost', record} if
-- another commit came first; {'gone'} if there is no game that could be changed.

local game, events, deals = KEYS[1], KEYS[2], KEYS[3]
local bell, version, record, nonce, lifetime = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

-- Between two attempts of one client the others cannot get sixteen changes further: it is its turn.
local REMEMBERED = 16

local before = redis.call('HMGET', game, 'version', 'commits')
local stored = tonumber(before[1] or 0)
local commits = before[2] or ''

if string.find(commits, nonce, 1, true) then
  return {'stored'}
end
if stored == 0 and version > 1 then
  return {'gone'}
end
if stored ~= version - 1 then
  return {'lost', redis.call('HGET', game, 'record')}
end

local first_result = 7 + 4 * tonumber(ARGV[6])
for i = 7, first_result - 1, 4 do
  redis.call('XADD', events, ARGV[i] .. '-0', 'v', ARGV[i + 1], 't', ARGV[i + 2], 'e', ARGV[i + 3])
end
for i = first_result, #ARGV do
  redis.call('RPUSH', deals, ARGV[i])
end
local remembered = string.sub(nonce .. ' ' .. commits, 1, REMEMBERED * (#nonce + 1))
redis.call('HSET', game, 'version', version, 'record', record, 'commits', remembered)
-- Redis 7.0 lets time pass in a script: the game goes first, so there is never one without its log.
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, lifetime)
end
redis.call('PUBLISH', bell, version)
return {'stored'}
