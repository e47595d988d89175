-- Count one more in windows of time, all of them or none: KEYS are the counters, ARGV for each of
-- them its most and the milliseconds of its window, which begins with the first that is counted.
-- Answers 1 if it was counted and 0 if one of them is full, then for each the count and the
-- milliseconds until it begins anew. All keys have one hash tag, so that a cluster can run this.
local counted, counts = 1, {}
for place, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    -- In its last millisecond a counter is still there: it must not go on into the next window.
    local count = left > 0 and tonumber(redis.call('GET', key)) or 0
    counts[2 * place - 1] = count
    counts[2 * place] = math.max(left, 0)
    if count >= tonumber(ARGV[2 * place - 1]) then
        counted = 0
    end
end
if counted == 1 then
    for place, key in ipairs(KEYS) do
        if counts[2 * place] > 0 then
            counts[2 * place - 1] = redis.call('INCR', key)
        else
            counts[2 * place - 1] = 1
            counts[2 * place] = tonumber(ARGV[2 * place])
            redis.call('SET', key, 1, 'PX', counts[2 * place])
        end
    end
end
return { counted, unpack(counts) }
