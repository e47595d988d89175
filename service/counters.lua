-- Count more in windows of time, in all of them or in none: KEYS are the counters, ARGV how many
-- there are to be counted, and for each counter its most and the milliseconds of its window, which
-- begins with the first that is counted. All but the last of them have been let through already:
-- they are counted whatever the last one finds, as far as there is room.
-- Answers 1 if the last one was counted and 0 if one of the windows has no room for it, then for
-- each the count and the milliseconds until it begins anew. All keys have one hash tag, so that a
-- cluster can run this.
local amount, counted, counts = tonumber(ARGV[1]), 1, {}
for place, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    -- In its last millisecond a counter is still there: it must not go on into the next window.
    local count = left > 0 and tonumber(redis.call('GET', key)) or 0
    counts[2 * place - 1] = count
    counts[2 * place] = math.max(left, 0)
    if count + amount > tonumber(ARGV[2 * place]) then
        counted = 0
    end
end
for place, key in ipairs(KEYS) do
    local count, more = counts[2 * place - 1], amount
    if counted == 0 then
        more = math.min(amount - 1, tonumber(ARGV[2 * place]) - count)
    end
    if more > 0 and counts[2 * place] > 0 then
        counts[2 * place - 1] = redis.call('INCRBY', key, more)
    elseif more > 0 then
        counts[2 * place - 1] = more
        counts[2 * place] = tonumber(ARGV[2 * place + 1])
        redis.call('SET', key, more, 'PX', counts[2 * place])
    end
end
return { counted, unpack(counts) }
